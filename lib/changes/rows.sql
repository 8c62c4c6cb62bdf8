-- Rows of any table that is recorded (history_tables, lib/migrations/history.sql), by what PostgreSQL's catalogue says
-- of it. Only here is a statement put together from names of tables and columns.

-- That a row of the table, called `current`, has the `row_key`, which is a JSON array.
create function has_key(table_name text) returns text language sql stable as $$
  select string_agg(
    format('current.%I = cast(row_key ->> %s as %s)', attname, place - 1, format_type(atttypid, atttypmod)), ' and '
  )
  from
    unnest(key_columns(table_name)) with ordinality as key (name, place)
    join pg_attribute on attrelid = cast(table_name as regclass) and attname = name
$$;

-- The columns that can be written: those of the values that the table has, but for generated ones.
create function writable_columns(table_name text, names text[]) returns text[] language sql stable as $$
  select array_agg(cast(attname as text))
  from pg_attribute
  where
    attrelid = cast(table_name as regclass)
    and attname = any(names)
    and attgenerated = ''
    and not attisdropped
$$;

create function column_list(names text[], prefix text default '') returns text language sql immutable as $$
  select string_agg(prefix || quote_ident(name), ', ') from unnest(names) as name
$$;

-- The rows that have one of these keys, locked, with texts of values as the history has them.
create function current_rows(table_name text, keys jsonb) returns table (key jsonb, current jsonb)
  language plpgsql
  set timezone = 'UTC'
  set extra_float_digits = 1
  set intervalstyle = 'postgres'
  set bytea_output = 'hex'
  as $$
  begin
    return query execute format(
      $sql$
        select row_key, to_jsonb(current)
        from jsonb_array_elements($1) as row_key join %I as current on %s
        for no key update of current
      $sql$,
      table_name, has_key(table_name)
    )
    using keys;
  end
$$;

create function delete_rows(table_name text, keys jsonb) returns void language plpgsql as $$
  begin
    execute format(
      'delete from %I as current using jsonb_array_elements($1) as row_key where %s', table_name, has_key(table_name)
    )
    using keys;
  end
$$;

-- Objects by the columns that they have values for, at this path in each of them.
create function alike_objects(table_name text, objects jsonb, path text[] default '{}') returns table (
  columns text[], alike jsonb
) language sql stable as $$
  select writable_columns(table_name, names), jsonb_agg(object order by place)
  from
    jsonb_array_elements(objects) with ordinality as element (object, place)
    cross join lateral (select array(select jsonb_object_keys(object #> path))) as object_keys (names)
  where names <> '{}'
  group by names
$$;

-- Objects of values as rows, with the ids that they say. What the objects do not have gets its default. Such a row may
-- be there: a trigger may have added it meanwhile, as it gives the default role.
create function insert_rows(table_name text, objects jsonb) returns void language plpgsql as $$
  declare
    columns text[];
    alike jsonb;
  begin
    for columns, alike in select * from alike_objects(table_name, objects) loop
      perform insert_alike(table_name, columns, alike, format(
        'on conflict (%s) do %s',
        column_list(key_columns(table_name)),
        coalesce(
          (
            select 'update set ' || string_agg(format('%1$I = excluded.%1$I', name), ', ')
            from unnest(columns) as name
            where name <> all(key_columns(table_name))
          ),
          'nothing'
        )
      ));
    end loop;
  end
$$;

-- Objects that all have these columns as rows.
create function insert_alike(table_name text, columns text[], objects jsonb, conflict text default '') returns void
  language plpgsql as $$
  begin
    execute format(
      $sql$
        insert into %1$I (%2$s) overriding system value
        select %2$s from jsonb_populate_recordset(cast(null as %1$I), $1) %3$s
      $sql$,
      table_name, column_list(columns), conflict
    )
    using objects;
  end
$$;

-- Objects with a key and the values that its row gets.
create function update_rows(table_name text, objects jsonb) returns void language plpgsql as $$
  declare
    columns text[];
    alike jsonb;
  begin
    for columns, alike in select * from alike_objects(table_name, objects, '{values}') loop
      execute format(
        $sql$
          update %1$I as current set (%2$s) = row(%3$s)
          from
            jsonb_array_elements($1) as object
            cross join lateral jsonb_populate_record(cast(null as %1$I), object -> 'values') as latter
            cross join lateral (select object -> 'key') as named (row_key)
          where %4$s
        $sql$,
        table_name, column_list(columns), column_list(columns, 'latter.'), has_key(table_name)
      )
      using alike;
    end loop;
  end
$$;

-- The foreign keys between recorded tables. Each has one column.
create function foreign_keys() returns table (
  table_name text, column_name text, parent text, parent_kind text
) language sql stable as $$
  select child.table_name, cast(attname as text), parent.table_name, parent.kind
  from
    pg_constraint
    join history_tables() as child on conrelid = cast(child.table_name as regclass)
    join history_tables() as parent on confrelid = cast(parent.table_name as regclass)
    join pg_attribute on attrelid = conrelid and attnum = conkey[1]
  where contype = 'f'
$$;

-- Which list of one of these records has more rows than it may have, or null.
create function excess(record_kind text, owners bigint[]) returns text language plpgsql stable as $$
  declare
    list_table text;
    owner_column text;
    most bigint;
    found_excess text;
  begin
    for list_table, owner_column, most in
      select table_name, listed.owner, listed.most
      from history_tables() as listed
      where kind = record_kind and listed.most is not null
    loop
      execute format(
        $sql$
          select format('%%s %%s would have %%s %%s, and can have %%s', $2, %1$I, count(*), $3, $4)
          from %2$I where %1$I = any($1) group by %1$I having count(*) > $4 limit 1
        $sql$,
        owner_column, list_table
      )
      into found_excess
      using owners, initcap(record_kind), regexp_replace(list_table, '^' || record_kind || '_', ''), most;
      exit when found_excess is not null;
    end loop;
    return found_excess;
  end
$$;

-- The first rows of a change behind a row of history, as many as may be, as people read them: the record, what the row
-- is there, its key without the record, and the kinds of the records to which columns lead.
create function described_rows(described bigint, behind bigint, rows_max bigint, bytes_max bigint) returns jsonb
  language sql stable as $$
  with first_rows as materialized (
    select * from changed_rows where change_id = described and id > behind order by id, place limit rows_max
  ), tables as materialized (
    select listed.*, key_columns(table_name) as key_columns, (
      select jsonb_object_agg(column_name, parent_kind)
      from foreign_keys() as foreign_key
      where foreign_key.table_name = listed.table_name and column_name <> listed.owner
    ) as parents
    from history_tables() as listed
    where table_name in (select table_name from first_rows)
  )
  select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
    'record', concat_ws('/', kind, row.owner),
    'noun', noun,
    'key', (
      select jsonb_object_agg(name, key -> cast(position - 1 as integer))
      from unnest(key_columns) with ordinality as key_column (name, position)
      where name <> listed.owner
    ),
    'references', parents
  )) || jsonb_build_object(
    'before', case
      when after is null and listed.owner <> 'id' then before - key_columns - listed.owner
      else before
    end,
    'after', case when before is null then after - key_columns - listed.owner else after end
  ) order by id, place), '[]')
  from
    (select *, sum(octet_length(concat(before, after))) over (order by id, place) as bytes from first_rows) as row
    join tables as listed using (table_name)
  where bytes <= bytes_max
$$;

-- What a record is called, by a column of one of these names; what is gone by the last ones in the history. By its
-- position the arrays of a row of history need not be read whole, and the plan goes by the index of owners.
create function record_label(record_kind text, record_id bigint) returns text
  language plpgsql stable security definer set search_path from current set enable_seqscan = off as $$
  declare
    own_table text = (select table_name from history_tables() where kind = record_kind and noun is null);
    fields jsonb;
  begin
    execute format('select to_jsonb(current) from %I as current where id = $1', own_table) into fields using record_id;
    if fields is null then
      select before -> position into fields
      from history cross join lateral (select array_position(owners, record_id) - 1) as in_arrays (position)
      where owners @> array[record_id] and table_name = own_table and coalesce(after -> position, 'null') = 'null'
      order by change_id desc
      limit 1;
    end if;
    return coalesce(
      fields ->> 'username', fields ->> 'name', concat_ws(' ', fields ->> 'first_name', fields ->> 'last_name')
    );
  end
$$;

-- A change as people read it: how many records it added, edited and deleted, by kind; which one, if that is the only
-- one; and the number of its rows, with the first ones, unless it has many records and is not selected.
create function described_change(described bigint, is_selected boolean) returns jsonb
  language sql stable security definer set search_path from current as $$
  with touched as (
    select
      kind, row.owner, count(*) as row_count,
      case
        when bool_or(listed.owner = 'id' and before is null) then 'added'
        when bool_or(listed.owner = 'id' and after is null) then 'deleted'
        else 'edited'
      end as operation
    from changed_rows as row join history_tables() as listed using (table_name)
    where change_id = described
    group by kind, row.owner
  )
  select jsonb_build_object(
    'records', count(*),
    'record', case when count(*) = 1 then min(concat_ws('/', kind, owner)) end,
    'counts', (
      select coalesce(jsonb_agg(number order by operation, kind), '[]')
      from (
        select operation, kind, jsonb_build_object('operation', operation, 'kind', kind, 'count', count(*)) as number
        from touched
        group by operation, kind
      ) as counted
    ),
    'rowCount', coalesce(sum(row_count), 0),
    'rows', case
      when is_selected or count(*) <= 20
        then described_rows(described, 0, case when is_selected then 500 else 200 end, 4000000)
    end
  )
  from touched
$$;
