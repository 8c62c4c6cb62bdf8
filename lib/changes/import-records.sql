-- Locks the contributors that lines are about or lead to, in the order of their ids.
create function lock_contributors(items jsonb) returns void language plpgsql as $$
  begin
    perform
    from contributors
    where
      id = any(array(
        select imported_id('contributor', name)
        from
          jsonb_array_elements(items) as item
          cross join lateral (
            select item ->> 'external_id' where item ->> 'kind' = 'contributor'
            union all
            select unnest(array[item ->> 'from', item ->> 'to']) where item ->> 'kind' = 'contributor-relation'
            union all
            select credit ->> 'contributor'
            from jsonb_array_elements(item -> 'contributors') as credit
            where item ->> 'kind' = 'series'
          ) as mentioned (name)
      ))
    order by id
    for no key update;
  end
$$;

-- The lines of a kind, in their order.
create function items_of(items jsonb, kind text) returns jsonb language sql immutable as $$
  select coalesce(jsonb_agg(item order by cast(item -> 'number' as bigint)), '[]')
  from jsonb_array_elements(items) as item
  where item ->> 'kind' = kind
$$;

-- What became of the lines of a kind. A line refers to records of earlier kinds, or of the database.
create function import_kind(kind text, items jsonb, fresh jsonb) returns import_result language plpgsql as $$
  begin
    if items = '[]' then
      return cast(row(0, 0, '[]', '{}', '{}') as import_result);
    end if;
    return case kind
      when 'client' then import_clients(items)
      when 'publisher' then import_publishers(items, fresh)
      when 'contributor' then import_contributors(items, fresh)
      when 'publisher-relation' then import_publisher_relations(items, fresh)
      when 'contributor-relation' then import_contributor_relations(items, fresh)
      when 'series' then import_series(items, fresh)
    end;
  end
$$;

-- Imports some lines of a file: those from `position` to `end`. One import runs at a time, so nothing waits for another
-- one behind the lock. The input has the lines that were read, and the `refusals` of those that could not be. A refused
-- line changes nothing; the others are done. The row of the import moves on in the same transaction, so whoever goes on
-- begins behind the last line that was done. 409 means that it is somewhere else. Plans are kept while tables grow from
-- nothing, so records are looked up by indexes, however few there are. Where a plan of an empty table would still read
-- all of it, as a join with the lines does, ids come as an array, or the table behind a limit.
create function import_records(request request) returns outcome
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  as $$
  declare
    input jsonb = request.input;
    import imports;
    result import_result;
    kind text;
    fresh jsonb = '{}';
    claims import_claim[] = '{}';
    refusals jsonb = '[]';
    all_refusals jsonb;
    lines bigint = cast(input ->> 'last' as bigint) - cast(input ->> 'first' as bigint) + 1;
    added_count bigint = 0;
    changed_count bigint = 0;
    outcome outcome;
  begin
    perform lock_name('import');
    if not is_dry_run(request) then
      select * into import from imports where source = input ->> 'source';
      if import.key = request.key then
        return answered(import.answer);
      end if;
      if import.is_done and input ->> 'position' = '0' then
        import = null;
      end if;
      if import.is_done or coalesce(import.position, 0) <> cast(input ->> 'position' as bigint) then
        return refused(409);
      end if;
    end if;

    perform lock_contributors(input -> 'records');
    foreach kind in array array[
      'client', 'publisher', 'contributor', 'publisher-relation', 'contributor-relation', 'series'
    ] loop
      result = import_kind(kind, items_of(input -> 'records', kind), fresh);
      added_count = added_count + result.added;
      changed_count = changed_count + result.changed;
      fresh = fresh || result.fresh;
      claims = claims || result.claims;
      refusals = refusals || result.refusals;
    end loop;

    all_refusals = (
      select coalesce(jsonb_agg(refusal order by cast(refusal -> 'line' as bigint)), '[]')
      from jsonb_array_elements(refusals || (input -> 'refusals')) as refusal
    );
    outcome = operated(request, jsonb_build_object(
      'first', input -> 'first',
      'last', input -> 'last',
      'added', added_count,
      'changed', changed_count,
      'unchanged', lines - added_count - changed_count - jsonb_array_length(all_refusals),
      'refusals', refusals
    ) || case
      when is_dry_run(request) then jsonb_build_object('fresh', fresh, 'claims', to_jsonb(claims))
      else '{}'
    end);
    insert into imports (
      source, position, lines, added, changed, unchanged, refused, refusals, is_done, key, answer
    )
    values (
      input ->> 'source', cast(input ->> 'end' as bigint), cast(input ->> 'last' as bigint),
      coalesce(import.added, 0) + added_count,
      coalesce(import.changed, 0) + changed_count,
      coalesce(import.unchanged, 0) + cast(outcome.answer ->> 'unchanged' as bigint),
      coalesce(import.refused, 0) + jsonb_array_length(all_refusals),
      (
        select coalesce(jsonb_agg(refusal order by place), '[]')
        from jsonb_array_elements(coalesce(import.refusals, '[]') || all_refusals) with ordinality as r (refusal, place)
        where place <= 100
      ),
      cast(input ->> 'isDone' as boolean), request.key, outcome.answer
    )
    on conflict (source) do update
    set
      position = excluded.position,
      lines = excluded.lines,
      added = excluded.added,
      changed = excluded.changed,
      unchanged = excluded.unchanged,
      refused = excluded.refused,
      refusals = excluded.refusals,
      is_done = excluded.is_done,
      id = case when imports.is_done then nextval(pg_get_serial_sequence('imports', 'id')) else imports.id end,
      begun_at = case when imports.is_done then now() else imports.begun_at end,
      moved_at = now(),
      key = excluded.key,
      answer = excluded.answer
    returning id into import.id;
    update changes set import_id = import.id where id = cast(outcome.answer ->> 'change' as bigint);
    return outcome;
  end
$$;
