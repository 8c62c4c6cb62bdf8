-- Imports some lines of a file: those from `position` to `end`. One import runs at a time, so nothing waits for another
-- one behind the lock. A line that could not be read has the `field` and the `reason` for which it is refused. A
-- refused line changes nothing; the others are done. The row of the import moves on in the same transaction, so another
-- run begins behind the last line that was done. 409 means that it is somewhere else. Plans are kept while tables grow
-- from nothing, so records are looked up by indexes, however few there are.
create function import_records(request request) returns outcome
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  as $$
  declare
    input jsonb = request.input;
    file text = input ->> 'source';
    import imports;
    added_count bigint;
    changed_count bigint;
    new_refusals jsonb;
    outcome outcome;
  begin
    perform lock_name('import');
    select * into import from imports where source = file;
    if import.key = request.key then
      return succeeded(import.result);
    end if;
    if import.is_done and input ->> 'position' = '0' then
      delete from imports where source = file;
      import = null;
    end if;
    if import.is_done or coalesce(import.position, 0) <> cast(input ->> 'position' as bigint) then
      return refused(409);
    end if;

    select
      count(*) filter (where operation = 'added'),
      count(*) filter (where operation = 'changed'),
      coalesce(
        jsonb_agg(jsonb_build_object('line', line, 'field', field, 'reason', reason) order by line)
          filter (where operation = 'refused'),
        '[]'
      )
    into added_count, changed_count, new_refusals
    from (
      select number, 'refused', field, reason
      from jsonb_to_recordset(input -> 'lines') as unread (number bigint, field text, reason text)
      where reason is not null
      union all
      select line, operation, null, reason
      from
        import_lines(array(
          select line
          from jsonb_populate_recordset(cast(null as import_line), input -> 'lines') as line
          where object is not null
        ), null)
    ) as listed (line, operation, field, reason);
    outcome = operated(request, jsonb_build_object('refusals', new_refusals));
    insert into imports (source) values (file) on conflict (source) do nothing;
    update imports
    set
      position = cast(input ->> 'end' as bigint),
      lines = cast(input ->> 'last' as bigint),
      added = added + added_count,
      changed = changed + changed_count,
      refused = refused + jsonb_array_length(new_refusals),
      refusals = jsonb_path_query_array(refusals || new_refusals, '$[0 to 99]'),
      is_done = cast(input ->> 'isDone' as boolean),
      moved_at = now(),
      key = request.key,
      result = outcome.result
    where source = file
    returning id into import.id;
    update changes set import_id = import.id where id = cast(outcome.result ->> 'change' as bigint);
    return outcome;
  end
$$;
