-- The way to sign in (lib/data-api/sign-in.ts). Whoever calls it says who a provider has identified, so only the role
-- that does nothing else may. The request has the digest of the new session's token, and its key stands for one attempt
-- to sign in. Before the provider is asked, it comes without input, and claims the attempt. Signing in runs alone,
-- since it gives authority: behind the lock of all changes the user exists, is not being logged out, and signs in
-- nowhere else.

-- An attempt asks the provider for tokens once: by the request that has this token, which may be sent again.
create function claim_attempt(request request) returns outcome language sql as $$
  insert into used_attempts (key, digest) values (request.key, request.digest) on conflict do nothing;

  select case
    when exists (select from used_attempts where key = request.key and digest = request.digest) then succeeded()
    else refused(409)
  end
$$;

-- The user who signs in; null if the identity is unknown.
create function signing_in(request request) returns caller language sql stable as $$
  select cast(row(id, username, null) as caller) from users where id = identified_user(request.input)
$$;

-- 403 means that the identity is unknown, and 409 that the attempt was made before.
create function make_sign_in(
  input json, out status integer, out caller_id bigint, out body text, out clock bigint
) language plpgsql security definer set search_path from current as $$
  declare
    request request = json_populate_record(cast(null as request), input);
    caller caller = signing_in(request);
    outcome outcome;
  begin
    request.endpoint = 'sign-in/callback';
    request.fingerprint = encode(sha256(decode(request.digest, 'hex')), 'hex');
    if request.input is null then
      outcome = claim_attempt(request);
    -- Unknown identities take no lock, so no editor waits for them.
    elsif caller.id is not null then
      outcome = take_locks(request, is_shared => false);
      -- The user may have been deleted, or the identity linked to another user, while this waited.
      caller = signing_in(request);
    end if;
    if outcome.status is null and caller.id is null then
      outcome = refused(403);
    end if;
    -- The outcome of an attempt that was made before may be lost, and is given again to the request that has the token.
    -- A replay of the attempt has another one, and gets nothing.
    if outcome.status is null then
      outcome = replayed(request, caller);
    end if;
    if outcome.status = 400 then
      outcome = refused(409);
    end if;
    if outcome.status is null then
      perform begin_change(request, caller);
      outcome = sign_in(request, caller);
    end if;
    status = outcome.status;
    caller_id = caller.id;
    body = outcome.result;
    clock = floor(1000 * extract(epoch from clock_timestamp()));
  end
$$;
