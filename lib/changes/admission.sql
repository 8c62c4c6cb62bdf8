-- Locks are taken in one order, so nothing deadlocks. First the request's own, on which it waits if it has been sent
-- before and is still being worked on. Then the one of all changes: adding and editing contributors share it, and
-- everything else has it alone, so that who may do what cannot change while somebody relies on it. Then names, records
-- by their ids, slugs and tallies, in which only those who share the second one can meet.
create function queue_up(request request, is_shared boolean) returns void language plpgsql as $$
  begin
    perform pg_advisory_xact_lock(hashtextextended(request.endpoint || ' ' || request.key, 0));
    if is_shared then
      perform pg_advisory_xact_lock_shared(8146205);
    else
      perform pg_advisory_xact_lock(8146205);
    end if;
  end
$$;

-- Who calls this, and the changes, has a role that may write nothing: here it acts with the rights of the owner, which
-- ops-migrate gives to the functions that are called from outside, and to no others.
--
-- Lets a request of a session in, or decides it: who may not, or was answered before, need not be heard. A request
-- that was answered is answered alike, even if it has ended its own session.
create function admitted(asked json) returns request language plpgsql as $$
  declare
    request request = json_populate_record(cast(null as request), asked);
    fingerprint text;
    answer json;
  begin
    perform queue_up(request, request.permission in ('add-contributors', 'edit-contributors'));

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

-- Lets an operator in, who needs no session: whoever may invoke the function may do this.
create function commanded(asked json) returns request language plpgsql as $$
  declare
    request request = json_populate_record(cast(null as request), asked);
  begin
    perform queue_up(request, false);
    select 200, answer into request.status, request.answer
    from changes
    where caller_id is null and endpoint = request.endpoint and key = request.key;
    return request;
  end
$$;
