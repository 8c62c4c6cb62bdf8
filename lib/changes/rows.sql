-- Rows of any table that is recorded (history_tables, lib/migrations/history.sql), as undo writes them, by what
-- PostgreSQL's catalogue says of it.

-- That a row of the table, called `current`, has the `row_key`, which is a JSON array.
create function has_key(table_name text) returns text language sql stable as $$
  select string_agg(
    format('current.%I = cast(row_key ->> %s as %s)', attname, position - 1, format_type(atttypid, atttypmod)), ' and '
  )
  from
    unnest(key_columns(table_name)) with ordinality as key (name, position)
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
create function objects_by_columns(table_name text, objects jsonb, path text[] default '{}') returns table (
  columns text[], same_columns jsonb
) language sql stable as $$
  select writable_columns(table_name, names), jsonb_agg(object order by position)
  from
    jsonb_array_elements(objects) with ordinality as element (object, position)
    cross join lateral (select array(select jsonb_object_keys(object #> path))) as object_keys (names)
  where names <> '{}'
  group by names
$$;

-- Objects of values as rows, with the ids that they say. What the objects do not have gets its default. Such a row may
-- be there: a trigger may have added it meanwhile, as it gives the default role.
create function insert_rows(table_name text, objects jsonb) returns void language plpgsql as $$
  declare
    columns text[];
    same_columns jsonb;
  begin
    for columns, same_columns in select * from objects_by_columns(table_name, objects) loop
      execute format(
        $sql$
          insert into %1$I (%2$s) overriding system value
          select %2$s from jsonb_populate_recordset(cast(null as %1$I), $1)
          on conflict (%3$s) do %4$s
        $sql$,
        table_name, column_list(columns), column_list(key_columns(table_name)),
        coalesce(
          (
            select 'update set ' || string_agg(format('%1$I = excluded.%1$I', name), ', ')
            from unnest(columns) as name
            where name <> all(key_columns(table_name))
          ),
          'nothing'
        )
      )
      using same_columns;
    end loop;
  end
$$;

-- Objects with a key and the values that its row gets.
create function update_rows(table_name text, objects jsonb) returns void language plpgsql as $$
  declare
    columns text[];
    same_columns jsonb;
  begin
    for columns, same_columns in select * from objects_by_columns(table_name, objects, '{values}') loop
      execute format(
        $sql$
          update %1$I as current set (%2$s) = row(%3$s)
          from
            jsonb_array_elements($1) as object
            cross join lateral jsonb_populate_record(cast(null as %1$I), object -> 'values') as new_values
            cross join lateral (select object -> 'key') as named (row_key)
          where %4$s
        $sql$,
        table_name, column_list(columns), column_list(columns, 'new_values.'), has_key(table_name)
      )
      using same_columns;
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
