-- POST /admin-users/logout/{id}. Ends all sessions of the user, and releases the user's edit locks.
create function log_out_user(request request, caller caller) returns outcome language plpgsql as $$
  declare
    error outcome = record_error(request, (select version from users where id = request.target));
  begin
    if error.status is not null then
      return error;
    end if;
    if outranks(request.target, caller.id) then
      return refused(403);
    end if;

    perform end_sessions_of(request.target);
    return done(request, caller, record => 'user/' || request.target);
  end
$$;
