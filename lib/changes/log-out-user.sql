-- POST /admin-users/logout/{id}. Ends all sessions of the user, and releases the user's edit locks.
create function log_out_user(request request, caller caller) returns outcome language plpgsql as $$
  begin
    perform end_sessions_of(request.target);
    return done(request, caller, record => 'user/' || request.target);
  end
$$;
