-- POST /sign-out. Ends the session of the request, and no other one. Edit locks are the user's: they are released when
-- no other session is left, in which the user may be editing.
create function sign_out(request request, caller caller) returns outcome language plpgsql as $$
  begin
    update refresh_tokens set revoked_at = now() where digest = decode(request.digest, 'hex');
    if not has_session(caller.id) then
      perform release_locks_of(caller.id);
    end if;
    return done(request, caller, record => 'user/' || caller.id);
  end
$$;
