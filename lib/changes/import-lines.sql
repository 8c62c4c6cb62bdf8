-- Imports lines of a file into the tables that they name (lib/operators/catalogue-lines.ts), which are checked there;
-- what depends on the database is checked here. An import is the only change that gives external ids, and that changes
-- publishers, series, tags and clients beside others, and one batch waits for another one. So only contributors need
-- locks of their own. A step is one statement over all lines of a batch, which joins them by hashing.

-- A line. If it is about a record, it has a `reference` to that, and the lists that it replaces; a new record that gets
-- no slug from the line gets one that is `made` from its name. The database adds the last three.
create type import_line as (
  number bigint, table_name text, reference text, external_id text, slug text, made text, lists text[], object jsonb,
  id bigint, is_new boolean, current jsonb
);

-- A row that a line says: of its own table in place 0, or of a list.
create type import_row as (line bigint, table_name text, place bigint, object jsonb);

-- A record to which a row leads by a column, in the column `id` that of the line. If it is new, `source` is its line.
create type import_reference as (
  line bigint, table_name text, place bigint, column_name text, parent text, reference text, id bigint, source bigint
);

-- What became of lines: `refusals` are objects with line, field and reason.
create type import_result as (added bigint, changed bigint, refusals jsonb);

create function refusal(line bigint, field text, reason text) returns jsonb language sql immutable as $$
  select jsonb_build_object('line', line, 'field', field, 'reason', reason)
$$;

create function refused_numbers(refusals jsonb) returns bigint[] language sql immutable as $$
  select array(select distinct cast(refusal -> 'line' as bigint) from jsonb_array_elements(refusals) as refusal)
$$;

-- The slug that an external id says, as an export names a record without one; null if it says none.
create function said_slug(external_id text) returns text language sql immutable as $$
  select substring(external_id from '^slug:([^/?#%\\]+)$')
$$;

-- The records of a table that lines mean: clients by their ids, tags by their names, others by their external ids.
create function imported_ids(target text, wanted text[]) returns table (reference text, id bigint)
  language plpgsql as $$
  declare
    slugs text[] = array(select said_slug(name) from unnest(wanted) as name where said_slug(name) is not null);
  begin
    if target = 'clients' then
      return query
        select cast(clients.id as text), clients.id from clients where clients.id = any(cast(wanted as bigint[]));
    elsif target = 'tags' then
      return query
        select called, tags.id from unnest(wanted) as called join tags on identity_key(name) = identity_key(called);
    else
      return query execute format(
        $sql$
          select distinct on (reference) reference, id
          from (
            select 1, external_id, id from %1$I where external_id = any($1)
            union all
            select 2, 'slug:' || slug, id from %1$I where slug = any($2) and external_id is null%2$s
          ) as found (rank, reference, id)
          order by reference, rank
        $sql$,
        target,
        case
          when target = 'contributors' then $sql$
            union all
            select 3, external_id, contributor_id from former_external_ids where external_id = any($1)
            union all
            select 4, 'slug:' || slug, contributor_id from former_slugs where slug = any($2)$sql$
        end
      )
      using wanted, slugs;
    end if;
  end
$$;

-- The records to which lines lead. A new record gets its id here.
create function import_references(lines import_line[], given import_row[]) returns import_reference[]
  language sql as $$
  with lead_columns as materialized (
    select table_name, column_name, parent from foreign_keys()
  ), wanted as materialized (
    select number as line, table_name, 0 as place, 'id' as column_name, table_name as parent, reference
    from unnest(lines)
    where reference is not null
    union all
    select line, said.table_name, place, column_name, parent, object ->> column_name
    from unnest(given) as said join lead_columns using (table_name)
    where object ->> column_name is not null
  ), known as materialized (
    select parent, record.reference, record.id
    from
      (select parent, array_agg(distinct reference) as names from wanted group by parent) as asked
      cross join lateral imported_ids(parent, names) as record
  ), added as materialized (
    select
      parent, reference,
      case parent
        when 'clients' then cast(reference as bigint)
        else nextval(pg_get_serial_sequence(parent, 'id'))
      end as id,
      line
    from wanted left join known using (parent, reference)
    where column_name = 'id' and known.id is null
    order by line
  ), record as (
    select *, cast(null as bigint) as source from known union all select * from added
  )
  select array(
    select cast(
      row(line, table_name, place, column_name, parent, reference, id, source) as import_reference
    )
    from wanted left join record using (parent, reference)
  )
$$;

-- The rows with the ids of the records to which they lead.
create function led_rows(given import_row[], leads import_reference[]) returns import_row[] language sql as $$
  select array(
    select cast(
      row(line, table_name, place, case when ids is null then object else object || ids end) as import_row
    )
    from
      unnest(given)
      left join (
        select line, table_name, place, jsonb_object_agg(column_name, id) as ids
        from unnest(leads)
        where column_name <> 'id'
        group by line, table_name, place
      ) as led using (line, table_name, place)
  )
$$;

-- Why lines are refused for what they refer to: there is no such record, or a later line adds it, or that was refused.
create function refused_references(
  lines import_line[], leads import_reference[], refused bigint[]
) returns jsonb language sql as $$
  select coalesce(jsonb_agg(
    refusal(line, concat_ws('.', lead.table_name, nullif(place, 0) - 1, column_name), 'unknown')
    order by line, place, column_name
  ), '[]')
  from unnest(leads) as lead join unnest(lines) as own on own.number = lead.line
  where parent <> 'tags' and (lead.id is null or source > line or source = any(refused))
$$;
