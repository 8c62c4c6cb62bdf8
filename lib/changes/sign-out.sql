-- POST /sign-out. Ends the session of the request, and no other one. Edit locks are the user's: they are released when
-- no other session is left, in which the user may be editing.
create function sign_out(request request, caller caller) returns outcome language plpgsql as $$
  begin
    update refresh_tokens set revoked_at = now() where digest = decode(request.digest, 'hex');
    perform release_locks_of(caller.id)
    where not exists (
      select from refresh_tokens where user_id = caller.id and expires_at > now() and revoked_at is null
    );
    return done(request, caller, record => 'user/' || caller.id);
  end
$$;
