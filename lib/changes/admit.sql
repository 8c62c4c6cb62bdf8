-- All changes take locks in the same order, so they cannot deadlock. The first lock is the request's own: the same
-- request, sent again, waits for the first one. The second lock belongs to all changes: adding and editing contributors
-- share it, and any other change has it exclusively, so that permissions cannot change during a change. Then come
-- names, records by their ids, slugs and tallies (counters); only changes that share the second lock can wait for each
-- other there.
create function take_locks(request request, is_shared boolean) returns void language plpgsql as $$
  begin
    perform pg_advisory_xact_lock(hashtextextended(request.endpoint || ' ' || request.key, 0));
    if is_shared then
      perform pg_advisory_xact_lock_shared(8146205);
    else
      perform pg_advisory_xact_lock(8146205);
    end if;
  end
$$;

-- Admits a request with a session: its status stays null. Otherwise it sets status and answer: for a caller without the
-- permission, or for a request that was answered before. That gets the same answer, even if it ended its own session.
create function admit_caller(input json, is_shared boolean) returns request language plpgsql as $$
  declare
    request request = json_populate_record(cast(null as request), input);
    fingerprint text;
    answer json;
  begin
    perform take_locks(request, is_shared);

    select id, username, nullif(status, 200) into request.caller, request.username, request.status
    from caller(request.digest, request.permission, request.user_missing);

    select changes.fingerprint, changes.answer into fingerprint, answer
    from changes
    where caller_id = request.caller and endpoint = request.endpoint and key = request.key;
    if found and fingerprint is distinct from request.fingerprint then
      request.status = 400;
      request.answer = to_json(cast('Idempotency-Key' as text));
    elsif found then
      request.status = 200;
      request.answer = answer;
    end if;
    return request;
  end
$$;

-- Admits a request of an operator.
create function admit_operator(input json) returns request language plpgsql as $$
  declare
    request request = json_populate_record(cast(null as request), input);
  begin
    perform take_locks(request, false);
    select 200, answer into request.status, request.answer
    from changes
    where caller_id is null and endpoint = request.endpoint and key = request.key;
    return request;
  end
$$;
