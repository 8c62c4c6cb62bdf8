-- Makes the rows of a list those that are requested, for these owners; returns the owners whose list was not so. Rows
-- that are the same by the list's unique index, or by all values if it has none, stay the same rows. New records have
-- none, and owners is null.
create function replace_list(list_table text, owners bigint[], requested jsonb) returns bigint[] language plpgsql as $$
  declare
    owner_column text = (select owner from history_tables() as listed where listed.table_name = list_table);
    columns text[] = coalesce(
      writable_columns(list_table, array(select jsonb_object_keys(requested -> 0))), array[owner_column]
    );
    unique_columns text[] = (
      select array_agg(cast(attname as text))
      from pg_index join pg_attribute on attrelid = indrelid and attnum = any(indkey)
      where indrelid = cast(list_table as regclass) and indisunique and indnkeyatts > 1
    );
    names text[] = coalesce(unique_columns, columns);
    changed bigint[];
    removed jsonb;
    updated jsonb;
    added jsonb = requested;
  begin
    if owners is not null then
      execute format(
        $sql$
          with stored as (
            select *, row_number() over (partition by owner, jsonb_hash_extended(name, 0) order by key) as copy
            from (
              select %1$I, jsonb_build_array(%2$s), jsonb_build_array(%3$s), jsonb_build_object(%4$s)
              from %5$I
              where %1$I = any($1)
            ) as current (owner, key, name, value)
          ), requested as (
            select *, row_number() over (partition by owner, jsonb_hash_extended(name, 0) order by place) as copy
            from (
              select cast(object ->> %1$L as bigint), jsonb_build_array(%6$s), object, place
              from jsonb_array_elements($2) with ordinality as element (object, place)
            ) as said (owner, name, value, place)
          ), compared as (
            select owner, key, place, stored.value as former, requested.value as latter
            from stored full join requested using (owner, name, copy)
            where stored.value is distinct from requested.value and (copy = 1 or not $3)
          )
          select
            array_agg(distinct owner),
            jsonb_agg(key) filter (where latter is null),
            jsonb_agg(jsonb_build_object('key', key, 'values', latter))
              filter (where former is not null and latter is not null),
            coalesce(jsonb_agg(latter order by place) filter (where former is null), '[]')
          from compared
        $sql$,
        owner_column, column_list(key_columns(list_table)), column_list(names),
        (select string_agg(format('%1$L, %1$I', name), ', ') from unnest(columns) as name), list_table,
        (select string_agg(format('object -> %L', name), ', ') from unnest(names) as name)
      )
      into changed, removed, updated, added
      using owners, requested, unique_columns is not null;
      perform delete_rows(list_table, removed) where removed is not null;
      perform update_rows(list_table, updated) where updated is not null;
    end if;
    perform insert_alike(
      list_table, columns, added, case when unique_columns is null then '' else 'on conflict do nothing' end
    )
    where added <> '[]';
    return changed;
  end
$$;

-- Adds records, whose ids are known. The keys of aliases are as triggers keep them, which have nothing left to do.
create function add_records(target text, rows import_row[]) returns void language plpgsql as $$
  begin
    perform insert_rows(target, objects)
    from (
      -- Materialized, so that the keys are made once instead of for each record.
      with alias as materialized (
        select
          line,
          string_agg(search_key(coalesce(object ->> 'name', object ->> 'title')), chr(10) order by place) as alias_keys
        from unnest(rows)
        where table_name like '%\_aliases'
        group by line
      )
      select jsonb_agg(
        object
        || case
          when made is null then '{}'
          else jsonb_build_object(
            'external_id', external_id, 'slug', coalesce(requested_slug(record), made),
            'alias_keys', coalesce(alias_keys, '')
          )
        end
        order by line
      )
      from unnest(rows) as record left join alias using (line)
      where is_new and place = 0
    ) as new (objects)
    where objects is not null;
    if exists (
      select
      from
        unnest(rows) as record
        join current_rows(target, (
          select jsonb_agg(jsonb_build_array(id))
          from unnest(rows) as new
          where is_new and place = 0 and requested_slug(new) <> ''
        )) as present on key = jsonb_build_array(id)
      where place = 0 and present.current ->> 'slug' <> requested_slug(record)
    ) then
      raise unique_violation using message = 'A slug was made from a name before a line requested it';
    end if;
  end
$$;

-- Adds and edits the records of a table, to which all rows belong. The caller has locked contributors that exist.
create function import_records_of(target text, rows import_row[]) returns setof import_outcome language plpgsql as $$
  declare
    list_table text;
    owners bigint[];
    requested jsonb;
    changed_ids bigint[] = '{}';
  begin
    perform add_records(target, rows);
    insert into tags (name)
    select object ->> 'tag_id'
    from unnest(rows)
    where table_name = 'series_tags'
    order by line, place
    on conflict do nothing;
    for list_table, owners, requested in
      select name, edited_ids, coalesce(objects, '[]')
      from
        (
          select name, array_agg(id) filter (where not is_new) as edited_ids
          from unnest(rows) cross join lateral jsonb_object_keys(lists) as name
          group by name
        ) as listed
        left join (
          select table_name, jsonb_agg(object || coalesce(tag, '{}') order by line, place) as objects
          from
            unnest(rows)
            left join lateral (
              select jsonb_build_object('tag_id', id)
              from tags
              where identity_key(name) = case when table_name = 'series_tags' then identity_key(object ->> 'tag_id') end
            ) as found (tag) on true
          where place > 0
          group by table_name
        ) as said on table_name = name
    loop
      changed_ids = changed_ids || replace_list(list_table, owners, requested);
    end loop;

    rows = array(
      select row
      from unnest(rows) as row
      where place = 0 and (is_new or id = any(changed_ids) or not current @> object)
    );
    perform update_rows(target, jsonb_agg(jsonb_build_object(
      'key', jsonb_build_array(id),
      'values', object - 'id' || case
        when current ? 'version' then jsonb_build_object('version', cast(current -> 'version' as bigint) + 1)
        else '{}'
      end
    )))
    from unnest(rows)
    where not is_new
    having count(*) > 0;
    return query
      select line, case when is_new then 'added' else 'changed' end, null, cast(null as bigint), null
      from unnest(rows);
  end
$$;

-- Adds relations between records. One that is there is not added again.
create function import_relations_of(target text, rows import_row[]) returns setof import_outcome language plpgsql as $$
  declare
    owner_column text;
    most bigint;
    outcomes import_outcome[];
    added jsonb;
  begin
    select owner, listed.most into owner_column, most from history_tables() as listed where table_name = target;
    execute format(
      $sql$
        with said as (
          select min(line) as line, object, cast(object ->> %2$L as bigint) as owner from unnest($1) group by object
        ), stored as (
          select %2$I as owner, to_jsonb(current) - 'id' as object
          from %1$I as current
          where %2$I = any(array(select owner from said))
        )
        select array(
          select cast(row(
            line,
            case
              when row_number() over (partition by owner order by line) + coalesce(count, 0) <= $2 then 'added'
              else 'refused'
            end,
            %3$L, 0, 'this record has as many relations as it may, ' || $2
          ) as import_outcome)
          from said left join (select owner, count(*) from stored group by owner) as present using (owner)
          where not exists (select from stored where stored.object = said.object)
        )
      $sql$,
      target, owner_column, target || '.' || owner_column
    )
    into outcomes
    using rows, most;
    select jsonb_agg(object order by line) into added
    from unnest(rows)
    where line in (select outcome.line from unnest(outcomes) as outcome where operation = 'added');
    perform insert_rows(target, added) where added is not null;
    if target = 'contributor_relations' then
      update contributors
      set version = version + 1
      where id in (select cast(object -> owner_column as bigint) from jsonb_array_elements(added) as object);
    end if;
    return query select * from unnest(outcomes);
  end
$$;

-- Locks names that contributors get, as additions and edits of one do; each record and name before any slug.
create function lock_names(rows import_row[]) returns void language plpgsql as $$
  begin
    perform lock_name(name)
    from (
      select distinct concat('contributor ', identity_key(first_name), chr(10), identity_key(last_name))
      from
        unnest(rows)
        cross join lateral jsonb_to_record(current || object)
          as latest (first_name text, last_name text, disambiguation text)
      where line_table = 'contributors' and place = 0 and not current @> to_jsonb(latest)
      order by 1
    ) as locked (name);
  end
$$;

-- Imports lines as if they came one by one, which they do where they depend on each other: when one gives up a name
-- that another one takes, or two want the same one, or are about one record. Records come before what leads to them.
create function import_lines(lines import_line[]) returns setof import_outcome language plpgsql as $$
  declare
    rows import_row[] = import_rows(lines);
    leads import_reference[] = import_references(rows);
    targets text[] = array(select distinct table_name from unnest(lines));
    target text;
    own import_row[];
    outcomes import_outcome[] = '{}';
    half integer = (cardinality(lines) + 1) / 2;
  begin
    perform
    from contributors
    where id = any(array(select id from unnest(leads) where parent = 'contributors' and source is null))
    order by id
    for no key update;
    rows = known_rows(rows, leads);
    perform lock_names(rows);
    begin
      if exists (
        select from unnest(rows) where place = 0 and id is not null group by line_table, id having count(*) > 1
      ) then
        raise unique_violation using message = 'Several lines are about one record';
      end if;
      foreach target in array array[
        'clients', 'publishers', 'contributors', 'publisher_relations', 'contributor_relations', 'series'
      ] loop
        continue when target <> all(targets);
        outcomes = outcomes || array(select refusal from import_refusals(target, rows, leads) as refusal);
        rows = without_refused(rows, outcomes);
        outcomes = outcomes || array(select refusal from refused_images(target, rows) as refusal);
        rows = without_refused(rows, outcomes);
        own = array(select row from unnest(rows) as row where line_table = target);
        if target like '%\_relations' then
          outcomes = outcomes || array(select outcome from import_relations_of(target, own) as outcome);
        else
          outcomes = outcomes || array(select outcome from import_records_of(target, own) as outcome);
        end if;
      end loop;
      return query select * from unnest(outcomes);
    exception when unique_violation then
      if half = cardinality(lines) then
        raise;
      end if;
      return query select * from import_lines(trim_array(lines, cardinality(lines) - half));
      return query select * from import_lines(lines[half + 1:]);
    end;
  end
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

    -- A line is refused once, for what comes first.
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
      select distinct on (line) *
      from (
        select number, 'refused', field, reason, 0
        from jsonb_to_recordset(input -> 'lines') as unread (number bigint, field text, reason text)
        where reason is not null
        union all
        select line, operation, format(input -> 'fields' ->> column_name, place - 1), reason, rank
        from
          import_lines(array(
            select line
            from jsonb_populate_recordset(cast(null as import_line), input -> 'lines') as line
            where object is not null
          )) with ordinality as outcome (line, operation, column_name, place, reason, rank)
      ) as listed (line, operation, field, reason, rank)
      order by line, rank
    ) as first;
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
