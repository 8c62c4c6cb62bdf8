-- Imports lines of a file into the tables that they name (lib/operators/catalogue-lines.ts), which are checked there;
-- what depends on the database is checked here. An import is the only change that gives external ids, and that changes
-- publishers, series, tags and clients beside others, and one batch waits for another one. So only contributors need
-- locks of their own. A step is one statement over all lines of a batch, which joins them by hashing.

-- A line, and its lists, which it replaces. A new record that gets no slug from the line gets one that is `made` from
-- its name. The database adds the last four.
create type import_line as (
  number bigint, table_name text, made text, lists text[], object jsonb,
  external_id text, id bigint, is_new boolean, current jsonb
);

-- An element of a list.
create type import_row as (line bigint, table_name text, place bigint, object jsonb);

-- A record that a line, in place 0, or an element of a list names by a field, in the column `id` that of the line. The
-- database adds its id, and if it is new the line that adds it.
create type import_reference as (
  line bigint, table_name text, place bigint, column_name text, field text, parent text, name text,
  id bigint, source bigint
);

-- What became of a line: it was added, changed or refused, that for this field and reason.
create type import_outcome as (line bigint, operation text, field text, reason text);

create function refused_numbers(outcomes import_outcome[]) returns bigint[] language sql immutable as $$
  select array(select line from unnest(outcomes) where operation = 'refused')
$$;

create function without_refused(lines import_line[], outcomes import_outcome[]) returns import_line[]
  language sql immutable as $$
  select array(
    select line from unnest(lines) as line where number not in (select unnest(refused_numbers(outcomes)))
  )
$$;

-- The slug that an external id says, as an export names a record without one; null if it says none.
create function said_slug(external_id text) returns text language sql immutable as $$
  select substring(external_id from '^slug:([^/?#%\\]+)$')
$$;

-- The slug that a new record must get, if the line says one.
create function requested_slug(line import_line) returns text language sql immutable as $$
  select coalesce(line.object ->> 'slug', said_slug(line.external_id))
$$;

-- The records of a table that lines mean: clients by their ids, tags by their names, others by their external ids.
create function imported_ids(target text, names text[]) returns table (name text, id bigint)
  language plpgsql as $$
  begin
    if target = 'clients' then
      return query
        select cast(clients.id as text), clients.id from clients where clients.id = any(cast(names as bigint[]));
    elsif target = 'tags' then
      return query
        select called, tags.id
        from unnest(names) as called join tags on identity_key(tags.name) = identity_key(called);
    else
      return query execute format(
        $sql$
          select distinct on (name) name, id
          from (
            select 1, external_id, id from %1$I where external_id = any($1)
            union all
            select 2, 'slug:' || slug, id from %1$I where slug = any($2) and external_id is null%2$s
          ) as found (rank, name, id)
          order by name, rank
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
      using names, array(select said_slug(called) from unnest(names) as called where said_slug(called) is not null);
    end if;
  end
$$;

-- The references with their records. A new record gets its id here.
create function found_references(leads import_reference[]) returns import_reference[] language sql as $$
  with known as materialized (
    select parent, record.name, record.id
    from
      (select parent, array_agg(distinct name) as names from unnest(leads) group by parent) as named
      cross join lateral imported_ids(parent, names) as record
  ), added as materialized (
    select
      parent, name,
      case parent
        when 'clients' then cast(name as bigint)
        else nextval(pg_get_serial_sequence(parent, 'id'))
      end as id,
      line as source
    from unnest(leads) as lead left join known using (parent, name)
    where column_name = 'id' and known.id is null
    order by line
  )
  select array(
    select cast(
      row(line, table_name, place, column_name, field, parent, name, record.id, record.source) as import_reference
    )
    from
      unnest(leads)
      left join (select *, null as source from known union all select * from added) as record using (parent, name)
  )
$$;

-- The rows with the ids of the records that they name.
create function led_rows(elements import_row[], leads import_reference[]) returns import_row[] language sql as $$
  select array(
    select cast(row(line, table_name, place, object || coalesce(ids, '{}')) as import_row)
    from
      unnest(elements)
      left join (
        select line, table_name, place, jsonb_object_agg(column_name, id) as ids
        from unnest(leads)
        where column_name <> 'id'
        group by line, table_name, place
      ) as led using (line, table_name, place)
  )
$$;

-- Why lines of a table are refused by themselves, or since there is no such record as they name, or a later line adds
-- it, or that was refused.
create function import_refusals(
  target text, lines import_line[], leads import_reference[], refused bigint[]
) returns setof import_outcome language plpgsql as $$
  declare
    named text = case target when 'contributors' then 'first_name' else 'name' end;
  begin
    return query
      select number, 'refused', problem[1], problem[2]
      from
        unnest(lines) as line
        cross join lateral (select object ->> 'slug', said_slug(external_id)) as own (slug, said)
        cross join lateral (
          select case
            when is_new and object ->> named is null then array[named, 'a new record needs it']
            when not is_new and slug <> current ->> 'slug'
              then array['slug', 'expected the slug that the record has, which does not change']
            when is_new and slug <> said then array['slug', 'expected the slug that externalId says']
            when is_new and coalesce(slug, said) is not null and slug_exists(target, coalesce(slug, said))
              then array['slug', 'another record has it']
          end
        ) as found (problem)
      where problem is not null;
    return query
      select line, 'refused', field, 'there is none, neither in the database nor on an earlier line'
      from unnest(leads) as lead join unnest(lines) on number = line
      where parent <> 'tags' and (lead.id is null or source > line or source = any(refused))
      order by line, place, column_name;
  end
$$;
