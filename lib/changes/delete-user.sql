-- DELETE /admin-users/delete/{id}. Roles and locks go with the user. Sessions stay for a while, so that requests with
-- them learn that their user is gone; they open nothing, since no other user ever gets the id.
create function delete_user(request request) returns outcome language plpgsql as $$
  declare
    before json = user_record(request.target);
  begin
    if objection(request, before) > 0 then
      return refused(objection(request, before));
    end if;
    if outranks(request.target, request.caller) or is_kept_administrator(request.target, request.caller, ids(before -> 'roles')) then
      return refused(403);
    end if;

    delete from users where id = request.target;
    return done(request, before, answer => give_up_image(before));
  end
$$;
