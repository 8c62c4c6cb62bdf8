-- DELETE /admin-users/delete/{id}. Roles and locks go with the user. Sessions stay for a while, so that the answer
-- to them can say that the user is gone. They permit nothing: no other user ever gets the same id.
create function delete_user(request request) returns outcome language plpgsql as $$
  declare
    before json = user_record(request.target);
  begin
    if record_error(request, before) > 0 then
      return refused(record_error(request, before));
    end if;
    if outranks(request.target, request.caller) or must_stay_administrator(request.target, request.caller, ids(before -> 'roles')) then
      return refused(403);
    end if;

    delete from users where id = request.target;
    return done(request, before, answer => schedule_removal(before));
  end
$$;
