-- Imports lines of a file into the tables that they name (lib/operators/catalogue-lines.ts), which are checked there;
-- what depends on the database is checked here. An import is the only change that gives external ids, and that changes
-- publishers, series, tags and clients beside others, and one batch waits for another one. So only contributors need
-- locks of their own. A step is one statement over all lines of a batch, which joins them by hashing.

-- A line about a record by its external id, or by the id of a client, with the lists that it replaces. A new record
-- that gets no slug from the line gets one that is `made` from its name. The database adds the last three.
create type import_line as (
  number bigint, table_name text, external_id text, made text, object jsonb, lists text[],
  id bigint, is_new boolean, current jsonb
);

-- An element of a list of a line, or a relation, which is the line itself, in place 0.
create type import_row as (line bigint, table_name text, place bigint, object jsonb);

-- A record that a row names by a field, or a line, in place 0.
create type import_reference as (
  line bigint, table_name text, place bigint, column_name text, field text, parent text, name text
);

-- A record that lines mean by a name, and if it is new the first line that adds it.
create type import_record as (parent text, name text, id bigint, source bigint);

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

-- The records that lines are about, or name. A new record gets its id here.
create function found_records(lines import_line[], leads import_reference[]) returns import_record[] language sql as $$
  with said as materialized (
    select table_name as parent, external_id as name, number from unnest(lines) where external_id is not null
    union all
    select parent, name, null from unnest(leads) as lead join unnest(lines) on number = line
  ), known as materialized (
    select parent, record.name, record.id
    from
      (select parent, array_agg(distinct name) as names from said group by parent) as named
      cross join lateral imported_ids(parent, names) as record
  ), added as (
    select parent, name, min(number) as source
    from said left join known using (parent, name)
    where number is not null and id is null
    group by parent, name
    order by source
  )
  select array(
    select cast(row(parent, name, id, null) as import_record) from known
    union all
    select cast(row(
      parent, name,
      case parent when 'clients' then cast(name as bigint) else nextval(pg_get_serial_sequence(parent, 'id')) end,
      source
    ) as import_record)
    from added
  )
$$;

-- The rows of lines, and whose they are, with the ids of the records that they name.
create function led_rows(
  lines import_line[], elements import_row[], leads import_reference[], records import_record[]
) returns table (line bigint, table_name text, place bigint, owner bigint, object jsonb) language sql as $$
  select line, element.table_name, place, own.id, element.object || coalesce(ids, '{}')
  from
    unnest(elements) as element
    left join (
      select line, table_name, place, jsonb_object_agg(column_name, record.id) as ids
      from unnest(leads) as lead join unnest(records) as record using (parent, name)
      group by line, table_name, place
    ) as led using (line, table_name, place)
    join unnest(lines) as own on number = line
$$;

-- The lines with their records of a table. A record has one line.
create function known_lines(target text, lines import_line[], records import_record[]) returns setof import_line
  language plpgsql as $$
  declare
    ids jsonb = (select jsonb_object_agg(name, id) from unnest(records) where parent = target);
    present jsonb = (
      select jsonb_object_agg(key ->> 0, current)
      from current_rows(target, (
        select coalesce(jsonb_agg(jsonb_build_array(id)), '[]')
        from unnest(records)
        where parent = target and source is null
      ))
    );
  begin
    if (select count(*) > count(distinct ids -> external_id) from unnest(lines)) then
      raise unique_violation using message = 'Several lines are about one record';
    end if;
    return query
      select
        number, table_name, external_id, made, object, lists, cast(ids -> external_id as bigint), known is null,
        coalesce(known, '{}')
      from unnest(lines) cross join lateral (select present -> (ids ->> external_id)) as own (known)
      order by number;
  end
$$;

-- Why lines of a table are refused: by themselves, or since there is no such record as they name, or a later line adds
-- it, or that was refused. A name is free if an earlier line takes it from its owner. If that line is refused in its
-- turn, the unique index fails the batch, and its halves follow.
create function import_refusals(
  target text, lines import_line[], leads import_reference[], records import_record[], refused bigint[]
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
                  select from unnest(lines) as earlier where earlier.id = other.id and earlier.number < line.number
                )
            ) then array['first_name', 'another contributor has this name']
          end
        ) as found (problem)
      where problem is not null;
    return query
      select number, 'refused', field, 'there is none, neither in the database nor on an earlier line'
      from
        unnest(leads) as lead
        join unnest(lines) on number = line
        left join unnest(records) as record using (parent, name)
      where parent <> 'tags' and (record.id is null or source > number or source = any(refused))
      order by number, place, column_name;
  end
$$;
