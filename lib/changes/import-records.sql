-- The counts of an import with those of these lines: of each operation by table, of changed records by the client that
-- they had (0 if they were shared), and of contributors that became public.
create function import_counts(earlier jsonb, outcomes import_outcome[]) returns jsonb language sql immutable as $$
  select coalesce(jsonb_object_agg(name, total), '{}')
  from (
    select name, sum(number) as total
    from (
      select key, cast(value as bigint) from jsonb_each_text(earlier)
      union all
      select counted.name, 1
      from
        unnest(outcomes)
        cross join lateral (
          values
            (operation || ' ' || table_name),
            (case when operation = 'changed' then 'client ' || coalesce(client_id, 0) end),
            (case when is_published then 'published' end)
        ) as counted (name)
      where operation <> 'refused' and counted.name is not null
    ) as count (name, number)
    group by name
  ) as counted
$$;

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
    outcomes import_outcome[];
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

    outcomes = array(
      select written
      from
        import_lines(
          array(
            select line
            from jsonb_populate_recordset(cast(null as import_line), input -> 'lines') as line
            where object is not null
          ),
          cast(input ->> 'client' as bigint)
        ) as written
    );
    select coalesce(jsonb_agg(jsonb_build_object('line', line, 'field', field, 'reason', reason) order by line), '[]')
    into new_refusals
    from (
      select number, field, reason
      from jsonb_to_recordset(input -> 'lines') as unread (number bigint, field text, reason text)
      where reason is not null
      union all
      select line, null, reason
      from unnest(outcomes)
      where operation = 'refused'
    ) as refused (line, field, reason);
    outcome = operated(request, jsonb_build_object('refusals', new_refusals));
    insert into imports (source) values (file) on conflict (source) do nothing;
    update imports
    set
      position = cast(input ->> 'end' as bigint),
      lines = cast(input ->> 'last' as bigint),
      added = added + (select count(*) from unnest(outcomes) where operation = 'added'),
      changed = changed + (select count(*) from unnest(outcomes) where operation = 'changed'),
      counts = import_counts(counts, outcomes),
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
