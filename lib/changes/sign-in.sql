-- GET /sign-in/callback. Opens a session for the caller, whom an identity belongs to or is linked to now; an e-mail
-- address is erased when it has linked. Of the sessions that a user signed in to, the newest twenty last; those that an
-- operator has opened are not among them. The result is the time when the session ends.
--
-- Whoever ends all sessions of a user, an administrator or an operator, ends attempts to sign in, too, or else one that
-- waits at the provider would outlive that: 401 means that this attempt began before, and that the user has to begin
-- anew. As `revoked_at` does, `at` tells when it was asked for.
create function sign_in(request request, caller caller) returns outcome language plpgsql as $$
  declare
    identity json = request.input;
    days integer = identity ->> 'days';
    started_at timestamptz = identity ->> 'startedAt';
    end_at timestamptz = now() + make_interval(days => days);
  begin
    if coalesce(days, 0) not between 1 and 365 then
      return refused(400, 'days');
    end if;
    if started_at is null then
      return refused(400, 'startedAt');
    end if;
    if exists (
      select
      from changes
      where
        record = 'user/' || caller.id
        and endpoint in ('admin-users/logout', 'ops/end-sessions')
        and at >= started_at
    ) then
      return refused(401);
    end if;

    insert into identities (issuer, subject, user_id)
    values (identity ->> 'issuer', identity ->> 'subject', caller.id)
    on conflict do nothing;
    if found then
      delete from awaited_emails
      where issuer = identity ->> 'issuer' and email = email_key(identity ->> 'email');
    end if;

    update refresh_tokens
    set revoked_at = now()
    where
      digest in (
        select digest
        from refresh_tokens
        where user_id = caller.id and by_sign_in and expires_at > now() and revoked_at is null
        order by issued_at desc
        offset 19
      );
    insert into refresh_tokens (digest, user_id, expires_at, by_sign_in)
    values (decode(request.digest, 'hex'), caller.id, end_at, true);
    return done(request, caller, to_json(end_at), record => 'user/' || caller.id, takes_authority => false);
  end
$$;
