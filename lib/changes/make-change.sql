-- The two ways to all changes (lib/data-api/change.ts), but for signing in (make-sign-in.sql). Nothing else of a change
-- can be called by the service, so its passwords alone change nothing in a user's name. `clock` is the database's, in
-- milliseconds.

-- Makes a change for the caller whose session is in the request. Which permission that takes, and which record changes,
-- follows from the change's name (each-change.sql), whatever the request says. Sessions keep plans that they made while
-- tables were small, so statements go by indexes from the beginning.
create function make_change(
  change text, input json, out status integer, out caller_id bigint, out body text, out clock bigint
)
  language plpgsql security definer
  set search_path from current
  set enable_seqscan = off
  as $$
  declare
    request request = json_populate_record(cast(null as request), input);
    caller caller;
    outcome outcome;
    violated text;
  begin
    request.permission = permission_for(change);
    request.table_name = table_of(change);
    caller = caller_of(request);
    -- Callers without a session take no lock, so no editor waits for them.
    if caller.status is null then
      outcome = take_locks(request, runs_beside_others(change));
      -- An administrator may have logged the caller out while the caller waited.
      caller = caller_of(request);
    end if;
    if outcome.status is null then
      outcome = replayed(request, caller);
    end if;
    if outcome.status is null then
      outcome = record_error(request);
    end if;
    -- Nobody acts on a user who can do more.
    if outcome.status is null and request.table_name = 'users' and not permits_outranked(change) then
      if outranks(request.target, caller.id) then
        outcome = forbidden(2);
      end if;
    end if;
    if outcome.status is null then
      begin
        perform begin_change(request, caller);
        outcome = call_change(change, request, caller);
      -- Names of users, roles and permissions are unique by indexes, and so are keys of permissions.
      exception when unique_violation then
        get stacked diagnostics violated = constraint_name;
        if violated not in ('users_username_key', 'roles_name_key', 'permissions_name_key', 'permissions_key_key') then
          raise;
        end if;
        outcome = refused(409);
      end;
    end if;
    status = outcome.status;
    caller_id = caller.id;
    body = outcome.result;
    clock = floor(1000 * extract(epoch from clock_timestamp()));
  end
$$;

-- Makes a change for an operator. It needs no session: IAM decides who may invoke the function. A dry run makes the
-- change, too, and takes it back at once by leaving the block with an error.
create function make_operator_change(
  change text, input json, out status integer, out caller_id bigint, out body text, out clock bigint
) language plpgsql security definer set search_path from current as $$
  declare
    request request = json_populate_record(cast(null as request), input);
    outcome outcome = take_locks(request, operator_runs_beside_others(change));
  begin
    if outcome.status is null then
      select 200, result into outcome
      from changes
      where changes.caller_id is null and endpoint = request.endpoint and key = request.key;
    end if;
    if outcome.status is null then
      begin
        perform begin_change(request, null);
        outcome = call_operator_change(change, request);
        if request.dry_run then
          raise sqlstate 'DRYRN';
        end if;
      exception
        when sqlstate 'DRYRN' then null;
      end;
    end if;
    status = outcome.status;
    body = outcome.result;
    clock = floor(1000 * extract(epoch from clock_timestamp()));
  end
$$;
