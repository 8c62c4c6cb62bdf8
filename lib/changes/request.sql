-- A request, as those who change something for it see it.
create type request as (
  key text, -- what it is known by, however often it is sent: the client's own, or the id of the invocation
  id text, -- API Gateway's, or Lambda's
  fingerprint text, -- SHA-256 of what is asked, where the client chose the key
  endpoint text,
  digest text, -- SHA-256 of the session's token, hexadecimal; from operators of a token that is to become one
  permission text,
  user_missing integer, -- the status for a session whose user has been deleted
  versions bigint[], -- those that the client has seen; null asks for none
  target bigint, -- the record in question
  asked json,
  caller bigint, -- who asks; null for operators
  username text,
  status integer, -- what has been decided already: a refusal, or that the request came before
  answer json -- and what was answered then
);

-- A status of the contract, and what belongs to it: with 400 the name of the parameter to blame.
create type outcome as (status integer, answer json);

create function refused(status integer, parameter text default null) returns outcome language sql immutable as $$
  select cast(row(status, to_json(parameter)) as outcome)
$$;

create function answered(answer json default null) returns outcome language sql immutable as $$
  select cast(row(200, answer) as outcome)
$$;

-- What speaks against changing a record before all else: that it is not there, or not what the client has seen.
create function objection(request request, before json) returns integer language sql immutable as $$
  select case
    when before is null then 404
    when cast(before ->> 'version' as bigint) <> all(request.versions) then 412
    else 0
  end
$$;

-- The happy end of every change: its row in the ledger.
create function done(request request, before json default null, record bigint default null, answer json default null)
  returns outcome language plpgsql as $$
  begin
    insert into changes
      (key, request_id, fingerprint, endpoint, caller_id, username, record_id, asked, before, answer)
    values (
      request.key, request.id, request.fingerprint, request.endpoint, request.caller, request.username,
      coalesce(record, request.target), request.asked, before, answer
    );
    return answered(answer);
  end
$$;

-- The ids in a JSON array of ids, or of objects with an id, each once.
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
