-- What is requested.
create type request as (
  key text, -- identifies it, however often it is sent: the client's Idempotency-Key, or the id of the invocation
  id text, -- of API Gateway, or of Lambda
  fingerprint text, -- SHA-256 of the input, if the client chose the key
  endpoint text,
  digest text, -- SHA-256 of the session's token, hexadecimal; from operators that of a new session's token
  permission text,
  user_missing integer, -- the status for a session whose user has been deleted
  versions bigint[], -- the record must have one of them; null for any
  target bigint, -- the id of the record
  input json,
  begin_by timestamptz, -- when it comes later, the caller does not wait for it any more
  wait_until timestamptz -- then waits for locks end
);

-- Who requests it, from the session. Its status is null if they may; operators have no caller.
create type caller as (id bigint, username text, status integer);

-- A status of the contract, and its answer: with 400 the name of the invalid parameter. Where a change may still go on,
-- the status is null.
create type outcome as (status integer, answer json);

-- The outcome of a change that must not be made.
create function refused(status integer, parameter text default null) returns outcome language sql immutable as $$
  select cast(row(status, to_json(parameter)) as outcome)
$$;

-- The outcome of a change that leaves no row in the ledger.
create function answered(answer json default null) returns outcome language sql immutable as $$
  select cast(row(200, answer) as outcome)
$$;

-- Refuses a change of a record that does not exist, or has another version.
create function record_error(request request, before json) returns outcome language plpgsql immutable as $$
  begin
    return case
      when before is null then refused(404)
      when cast(before ->> 'version' as bigint) <> all(request.versions) then refused(412)
    end;
  end
$$;

-- The outcome of a change that was made. It adds the row in the ledger. An addition answers the id of what it added,
-- which is the record of its row. If the change ended the caller's own session or took their permission, the row has
-- the status of their next request, so that this one is answered the same when it is sent again. A change that runs
-- beside others takes nobody's authority, and need not look.
create function done(
  request request, caller caller, before json default null, record bigint default null, answer json default null,
  takes_authority boolean default true
) returns outcome language plpgsql as $$
  begin
    if caller.id is not null and takes_authority then
      caller.status = (caller_of(request)).status;
    end if;
    insert into changes
      (key, request_id, fingerprint, endpoint, caller_id, caller_status, username, record_id, asked, before, answer)
    values (
      request.key, request.id, request.fingerprint, request.endpoint, caller.id, caller.status, caller.username,
      coalesce(record, request.target), request.input, before, answer
    );
    return answered(coalesce(answer, to_json(record)));
  end
$$;

-- The outcome of an edit, with what it replaced. If it changed nothing, its row has the key without the input: the same
-- request, sent again, gets the same answer, and does not change later what it did not change now.
create function edited(request request, caller caller, changed jsonb) returns outcome language plpgsql as $$
  begin
    if changed = '{}' then
      request.input = null;
      return done(request, caller);
    end if;
    return done(request, caller, cast(changed as json));
  end
$$;

-- Whether an operator only wants to know what a change would do.
create function is_dry_run(request request) returns boolean language sql immutable as $$
  select coalesce(cast(request.input ->> 'dryRun' as boolean), false)
$$;

-- The outcome of an operator's change of several records. `effects` is an array with what it did to each, in the order
-- in which it did that (README.md, "Effects"); without any, the ledger gets no row. The answer gets the row's id.
create function operated(request request, effects jsonb, answer jsonb, undoes bigint[] default null) returns outcome
  language plpgsql as $$
  declare
    added bigint;
    records text[] = array(
      select distinct (effect ->> 'record') || '/' || (effect ->> 'id') from jsonb_array_elements(effects) as effect
    );
  begin
    if effects = '[]' or is_dry_run(request) then
      return answered(cast(answer as json));
    end if;
    added = nextval(pg_get_serial_sequence('changes', 'id'));
    answer = answer || jsonb_build_object('change', added);
    insert into changes (id, key, request_id, endpoint, record_id, records, undoes, asked, before, answer)
    overriding system value
    values (
      added, request.key, request.id, request.endpoint,
      case when cardinality(records) = 1 then cast(effects #>> '{0,id}' as bigint) end,
      records, undoes, request.input, effects, answer
    );
    return answered(cast(answer as json));
  end
$$;

-- The distinct ids in a JSON array of ids, or of objects with an id.
create function ids(elements json) returns bigint[] language plpgsql immutable as $$
  begin
    if elements is null or json_array_length(elements) = 0 then
      return '{}';
    end if;
    return array(
      select distinct cast(coalesce(element ->> 'id', element #>> '{}') as bigint)
      from json_array_elements(elements) as element
    );
  end
$$;

create function without(elements bigint[], others bigint[]) returns bigint[] language plpgsql immutable as $$
  begin
    if elements = '{}' or others = '{}' then
      return elements;
    end if;
    return array(select unnest(elements) except select unnest(others));
  end
$$;
