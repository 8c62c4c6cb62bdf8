-- Waits for locks end at this time. Later ones fail at once. No attempt lasts longer than 8 s (lib/retry.ts), whatever a
-- clock that has been set says.
create function end_waits_at(moment timestamptz) returns void language plpgsql as $$
  begin
    perform set_config(
      'lock_timeout',
      cast(least(8000, greatest(1, floor(1000 * extract(epoch from moment - clock_timestamp())))) as text),
      true
    );
  end
$$;

-- All changes take locks in the same order, so they cannot deadlock. The first lock is the request's own: the same
-- request, sent again, waits for the first one. The second lock belongs to all changes: some share it, and any other
-- change has it exclusively, so that permissions cannot change during a change. Then come names, records by their ids,
-- slugs and tallies (counters); only changes that share the second lock can wait for each other there.
--
-- False means that the request came too late. It is looked at behind the request's own lock, so once its time is over,
-- the next attempt knows that an earlier one is done or never will be.
create function take_locks(request request, is_shared boolean) returns boolean language plpgsql as $$
  begin
    perform end_waits_at(request.wait_until);
    perform lock_name(request.endpoint || ' ' || request.key);
    if clock_timestamp() > request.begin_by then
      return false;
    end if;

    perform end_waits_at(request.wait_until);
    if is_shared then
      lock table change_lock in row exclusive mode;
    else
      lock table change_lock in exclusive mode;
    end if;
    perform end_waits_at(request.wait_until);
    return true;
  end
$$;

-- The request with its caller. Its status stays null for a caller with a session and the permission.
create function authenticate(request request) returns request language plpgsql as $$
  begin
    select id, username, nullif(status, 200) into request.caller, request.username, request.status
    from caller(request.digest, request.permission, request.user_missing);
    return request;
  end
$$;

-- Sets status and answer of a request that was answered before, to the same answer. A caller who may not ask any more
-- does not get it, unless the change itself ended the session or took the permission.
create function recall(request request) returns request language plpgsql as $$
  declare
    recorded record;
  begin
    select fingerprint, answer into recorded
    from changes
    where
      caller_id = request.caller
      and endpoint = request.endpoint
      and key = request.key
      and (
        request.status is null
        or caller_status = request.status
        and (request.status <> 401 or at = (select revoked_at from refresh_tokens where digest = decode(request.digest, 'hex')))
      );
    if found and recorded.fingerprint is distinct from request.fingerprint then
      request.status = 400;
      request.answer = to_json(cast('Idempotency-Key' as text));
    elsif found then
      request.status = 200;
      request.answer = recorded.answer;
    end if;
    return request;
  end
$$;

-- Admits a request with a session: its status stays null. Otherwise it sets status and answer. Strangers take no lock,
-- so nobody waits for them. Behind the locks the caller is looked at again, since somebody may have logged them out.
create function admit_caller(input json, is_shared boolean) returns request language plpgsql as $$
  declare
    request request = authenticate(json_populate_record(cast(null as request), input));
  begin
    if request.status is null then
      if not take_locks(request, is_shared) then
        request.status = 503;
        return request;
      end if;
      request = authenticate(request);
    end if;
    return recall(request);
  end
$$;

-- Admits a request of an operator. It has no caller, whatever the input says.
create function admit_operator(input json) returns request language plpgsql as $$
  declare
    request request = json_populate_record(cast(null as request), input);
  begin
    request.caller = null;
    request.username = null;
    if not take_locks(request, false) then
      request.status = 503;
      return request;
    end if;
    select 200, answer into request.status, request.answer
    from changes
    where caller_id is null and endpoint = request.endpoint and key = request.key;
    return request;
  end
$$;
