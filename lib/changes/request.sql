-- What is requested.
create type request as (
  key text, -- identifies it, however often it is sent: the client's Idempotency-Key, or the id of the invocation
  id text, -- of API Gateway, or of Lambda
  fingerprint text, -- SHA-256 of the input, if the client chose the key
  endpoint text,
  digest text, -- SHA-256 of the session's token, hexadecimal; from operators that of a new session's token
  permission text, -- what the caller must hold, by the change's name; null if a session is enough
  user_missing integer, -- the status for a session whose user has been deleted
  versions bigint[], -- the record must have one of them; null for any
  table_name text, -- of the record that is to change, by the change's name; null if there is none
  target bigint, -- the id of the record; null if that cannot be an id
  input json,
  operator text, -- the name of who runs an operators' function
  reason text, -- the operator's
  dry_run boolean, -- whether the operator only wants to know what the change would do
  begin_by timestamptz, -- when it comes later, the caller does not wait for it any more
  wait_until timestamptz -- then waits for locks end
);

-- Who requests it, from the session. Its status is null if they may; operators have no caller.
create type caller as (id bigint, username text, status integer);

-- A status of the contract, and its result: with 400 the name of the invalid parameter and the reason, with 403 the
-- rule, if there is one, and for operators the reason of any refusal. Where a change may still go on, the status is
-- null.
create type outcome as (status integer, result json);

-- The outcome of a change that must not be made.
create function refused(status integer, parameter text default null) returns outcome language sql immutable as $$
  select cast(row(status, to_json(parameter)) as outcome)
$$;

-- The outcome of a request with an invalid parameter; the reason is one of lib/contract/faults.ts.
create function invalid(name text, reason text) returns outcome language sql immutable as $$
  select cast(row(400, json_build_object('name', name, 'reason', reason)) as outcome)
$$;

-- The outcome of a change that one of the three rules forbids (lib/contract/README.md, "Who may do what").
create function forbidden(rule integer) returns outcome language sql immutable as $$
  select cast(row(403, to_json(rule)) as outcome)
$$;

-- The outcome of a change that leaves no row in the ledger.
create function succeeded(result json default null) returns outcome language sql immutable as $$
  select cast(row(200, result) as outcome)
$$;

-- Locks the record that is to change. Refuses if it does not exist, or has another version.
create function record_error(request request) returns outcome language plpgsql as $$
  declare
    version bigint;
  begin
    if request.table_name is null then
      return null;
    end if;
    version = locked_version(request.table_name, request.target);
    return case
      when version is null then refused(404)
      when version <> all(request.versions) then refused(412)
    end;
  end
$$;

-- Whether this transaction has changed a row that is recorded.
create function has_changed() returns boolean language sql
  set enable_seqscan = off
  as $$
  select exists (
    select
    from changes join history on change_id = changes.id
    where
      changes.id = cast(nullif(current_setting('colophon.change', true), '') as bigint)
      and transaction = pg_current_xact_id()
  )
$$;

-- Sets what the row of this transaction's change says of the request.
create function begin_change(request request, caller caller) returns void language sql as $$
  select set_config('colophon.request', cast(json_build_object(
    'endpoint', request.endpoint,
    'key', request.key,
    'request_id', request.id,
    'fingerprint', request.fingerprint,
    'caller_id', caller.id,
    'username', caller.username,
    'operator', request.operator,
    'reason', request.reason
  ) as text), true)
$$;

-- The outcome of a change that was made. A change that leaves no row in the history says whose record it concerns. If
-- the change ended the caller's own session or took their permission, its row has the status of their next request, so
-- that this one gets the same response when it is sent again. A change that runs beside others takes no authority, and
-- need not look.
create function done(
  request request, caller caller, result json default null, record text default null,
  takes_authority boolean default true
) returns outcome language plpgsql as $$
  declare
    change_id bigint = current_change();
  begin
    if caller.id is not null and takes_authority then
      caller.status = (caller_of(request)).status;
    end if;
    if caller.status is not null or record is not null or result is not null then
      update changes
      set caller_status = caller.status, record = done.record, result = done.result
      where id = change_id;
    end if;
    return succeeded(result);
  end
$$;

-- The outcome of an operator's change of records, whose result gets the change's id. Without any the ledger gets no
-- row.
create function operated(request request, result jsonb) returns outcome language plpgsql as $$
  begin
    if request.dry_run or not has_changed() then
      return succeeded(cast(result as json));
    end if;
    return done(request, null, cast(result || jsonb_build_object('change', current_change()) as json));
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

create function without(elements bigint[], others bigint[]) returns bigint[] language sql immutable as $$
  select case
    when elements = '{}' or others = '{}' then elements
    else array(select unnest(elements) except select unnest(others))
  end
$$;
