-- Changes as people read them.

-- The first rows of a change behind a row of history, as many as may be, as people read them: the record, what the row
-- is there, its key without the record, and the kinds of the records that columns reference.
create function described_rows(described bigint, behind bigint, rows_max bigint, bytes_max bigint) returns jsonb
  language sql stable as $$
  with first_rows as materialized (
    select * from changed_rows where change_id = described and id > behind order by id, position limit rows_max
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
  ) order by id, position), '[]')
  from
    (select *, sum(octet_length(concat(before, after))) over (order by id, position) as bytes from first_rows) as row
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
