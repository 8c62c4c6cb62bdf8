-- Waits for locks end at this time. Later ones fail at once. No attempt lasts longer than 8 s (lib/aws/retry.ts),
-- whatever a clock that has been set says.
create function end_waits_at(moment timestamptz) returns void language sql as $$
  select set_config(
    'lock_timeout',
    cast(least(8000, greatest(1, floor(1000 * extract(epoch from moment - clock_timestamp())))) as text),
    true
  )
$$;

-- All changes take locks in the same order, so they cannot deadlock. The first lock is the request's own: the same
-- request, sent again, waits for the first one. The second lock belongs to all changes: some share it, and any other
-- change has it exclusively, so that permissions cannot change during a change. Then come records by their ids,
-- names and slugs; only changes that share the second lock can wait for each other there.
--
-- A request that comes too late is refused. It is looked at behind the request's own lock, so once its time is over,
-- the next attempt knows that an earlier one is done or never will be.
create function take_locks(request request, is_shared boolean) returns outcome language plpgsql as $$
  begin
    perform end_waits_at(request.wait_until);
    perform lock_name(request.endpoint || ' ' || request.key);
    if clock_timestamp() > request.begin_by then
      return refused(503);
    end if;

    perform end_waits_at(request.wait_until);
    if is_shared then
      if not is_rolled_back() then
        lock table change_lock in row exclusive mode;
      end if;
    else
      lock table change_lock in exclusive mode;
    end if;
    perform end_waits_at(request.wait_until);
    return null;
  end
$$;

create function caller_of(request request) returns caller language plpgsql as $$
  declare
    caller caller = caller(request.digest, request.permission, request.user_missing);
  begin
    caller.status = nullif(caller.status, 200);
    return caller;
  end
$$;

-- The outcome of a request that had a response before: the same result. A caller who may not make it any more does not
-- get that, unless the change itself ended the session or took the permission. The plan is kept, and goes by an index
-- even if the ledger was empty when it was made.
create function replayed(request request, caller caller) returns outcome language plpgsql
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  as $$
  declare
    recorded changes;
  begin
    select * into recorded
    from changes
    where caller_id = caller.id and endpoint = request.endpoint and key = request.key;
    if not found then
      return refused(caller.status);
    end if;
    if caller.status is not null
      and (
        recorded.caller_status = caller.status
        and (
          caller.status <> 401
          or recorded.at = (select revoked_at from refresh_tokens where digest = decode(request.digest, 'hex'))
        )
      ) is not true
    then
      return refused(caller.status);
    end if;
    if recorded.fingerprint is distinct from request.fingerprint then
      return invalid('Idempotency-Key', 'reused');
    end if;
    return succeeded(recorded.result);
  end
$$;
