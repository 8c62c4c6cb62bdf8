-- Imports lines of a file into the tables that they name (lib/operators/catalogue-lines.ts), which are checked there;
-- what depends on the database is checked here. An import is the only change that gives external ids, and that changes
-- publishers, series, tags and clients beside others, and one batch waits for another one. So only contributors need
-- locks of their own. A step is one statement over all lines of a batch, which joins them by hashing.

-- A line about a record by its external id, or by the id of a client, with the elements of the lists that it replaces,
-- by their tables. A new record that gets no slug from the line gets one that is `made` from its name. The database
-- adds the last three. A line about a relation has neither a record nor lists.
create type import_line as (
  number bigint, table_name text, external_id text, made text, object jsonb, lists jsonb,
  id bigint, is_new boolean, current jsonb
);

-- What a line says of a row: of its own, in place 0, or of an element of a list. First it names other records, and then
-- it has their ids, and its owner's.
create type import_row as (line bigint, table_name text, place bigint, object jsonb);

-- A record that a row names by a column, or a line by `id`. Of a new record the source is the first line that adds it.
create type import_reference as (
  line bigint, table_name text, place bigint, column_name text, parent text, name text, id bigint, source bigint
);

-- What became of a line: it was added, changed or refused, that for this column of a row, and for a reason.
create type import_outcome as (line bigint, operation text, column_name text, place bigint, reason text);

create function without_refused(lines import_line[], outcomes import_outcome[]) returns import_line[]
  language sql immutable as $$
  select array(
    select line
    from unnest(lines) as line
    where number not in (select outcome.line from unnest(outcomes) as outcome where operation = 'refused')
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

create function import_rows(lines import_line[]) returns import_row[] language sql immutable as $$
  select array(
    select cast(row(number, table_name, 0, object) as import_row) from unnest(lines)
    union all
    select cast(row(number, list_table, place, element) as import_row)
    from
      unnest(lines)
      cross join lateral jsonb_each(lists) as list (list_table, elements)
      cross join lateral jsonb_array_elements(elements) with ordinality as listed (element, place)
  )
$$;

create function import_references(lines import_line[], rows import_row[]) returns import_reference[]
  language sql stable as $$
  -- Materialized, so that PostgreSQL reads its catalogue once instead of for each row.
  with keys as materialized (
    select table_name, column_name, parent from foreign_keys()
  )
  select array(
    select cast(row(number, table_name, 0, 'id', table_name, external_id, null, null) as import_reference)
    from unnest(lines)
    where external_id is not null
    union all
    select cast(row(
      line, table_name, place, column_name, parent, object ->> column_name, null, null
    ) as import_reference)
    from unnest(rows) join keys using (table_name)
    where object ->> column_name is not null
  )
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

-- Finds the records. One that a line adds gets its id here.
create function found_records(leads import_reference[]) returns import_reference[] language sql as $$
  with known as materialized (
    select parent, record.name, record.id, cast(null as bigint) as source
    from
      (select parent, array_agg(distinct name) as names from unnest(leads) group by parent) as named
      cross join lateral imported_ids(parent, names) as record
  ), added as materialized (
    select
      parent, name,
      case parent when 'clients' then cast(name as bigint) else nextval(pg_get_serial_sequence(parent, 'id')) end as id,
      source
    from (
      select parent, name, min(line) as source
      from unnest(leads)
      where column_name = 'id' and (parent, name) not in (select parent, name from known)
      group by parent, name
      order by source
    ) as new
  )
  select array(
    select cast(row(line, table_name, place, column_name, parent, name, record.id, record.source) as import_reference)
    from
      unnest(leads) as lead
      left join (select * from known union all select * from added) as record using (parent, name)
  )
$$;

-- The rows with the ids of their owners and of the records that they name.
create function led_rows(rows import_row[], leads import_reference[]) returns import_row[] language sql stable as $$
  with own as (
    select line, id from unnest(leads) where column_name = 'id'
  ), led as (
    select line, table_name, place, jsonb_object_agg(column_name, id) as ids
    from unnest(leads)
    group by line, table_name, place
  )
  select array(
    select cast(row(
      line, table_name, place, jsonb_build_object(listed.owner, own.id) || object || coalesce(ids, '{}')
    ) as import_row)
    from
      unnest(rows) as row
      join history_tables() as listed using (table_name)
      left join own using (line)
      left join led using (line, table_name, place)
  )
$$;

-- The lines with their records.
create function known_lines(lines import_line[], leads import_reference[]) returns import_line[] language sql as $$
  with own as materialized (
    select line, parent, id, source from unnest(leads) where column_name = 'id'
  ), present as materialized (
    select parent, cast(key ->> 0 as bigint) as id, record.current
    from
      (
        select parent, jsonb_agg(jsonb_build_array(id)) as keys from own where source is null group by parent
      ) as named
      cross join lateral current_rows(parent, keys) as record
  )
  select array(
    select cast(row(
      number, table_name, external_id, made, object, lists, own.id, own.id is not null and present.id is null,
      coalesce(present.current, '{}')
    ) as import_line)
    from
      unnest(lines) as line
      left join own on own.line = number
      left join present on (present.parent, present.id) = (own.parent, own.id)
    order by number
  )
$$;

-- Why lines of a table are refused: by themselves, or since there is no such record as they name, or a later line adds
-- it, or that was refused, or a relation leads to its own record. A name is free if an earlier line takes it from its
-- owner. If that line is refused in its turn, the unique index fails the batch, and its halves follow.
create function import_refusals(target text, lines import_line[], leads import_reference[])
  returns setof import_outcome language plpgsql as $$
  declare
    named text = case target when 'contributors' then 'first_name' else 'name' end;
  begin
    return query
      select number, 'refused', target || '.' || problem[1], cast(0 as bigint), problem[2]
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
            when target = 'contributors' and not current @> object and exists (
              select
              from
                jsonb_to_record(current || object) as latest (first_name text, last_name text)
                join contributors as other
                  on identity_key(other.first_name) = identity_key(latest.first_name)
                  and identity_key(other.last_name) = identity_key(latest.last_name)
              where
                other.id <> line.id
                and not exists (
                  select from unnest(lines) as earlier
                  where (earlier.table_name, earlier.id) = (target, other.id) and earlier.number < line.number
                )
            ) then array['first_name', 'another contributor has this name']
          end
        ) as found (problem)
      where table_name = target and problem is not null;
    return query
      select
        line, 'refused', lead.table_name || '.' || column_name, place,
        'there is none, neither in the database nor on an earlier line'
      from unnest(leads) as lead join unnest(lines) as own on number = line
      where
        own.table_name = target
        and parent <> 'tags'
        and (lead.id is null or source > number or source not in (select number from unnest(lines)))
      order by number, place, column_name;
    return query
      select line, 'refused', target || '.relation_id', cast(0 as bigint), 'expected another record, not the same one'
      from unnest(leads)
      where target like '%\_relations' and table_name = target
      group by line
      having min(id) = max(id);
  end
$$;
