-- Imports lines of a file into the tables that they name (lib/operators/transfer/catalogue-lines.ts), which are checked
-- there; what depends on the database is checked here. An import is the only change that gives external ids, and that
-- changes publishers, series, tags and clients beside others, and one batch waits for another one. So only contributors
-- need locks of their own. A step is one statement over all lines of a batch, which joins them by hashing.

-- A line about a record by its external id, or by the id of a client, with the elements of the lists that it replaces,
-- by their tables. A new record that gets no slug from the line gets one that is `made` from its name. A line about a
-- relation has neither an id nor lists.
create type import_line as (number bigint, table_name text, made text, object jsonb, lists jsonb);

-- What a line of a table says of a row: of its own, in place 0, or of an element of a list. First it names other
-- records and its own, and then it has their ids, and its owner's. The last six are those of a record, in place 0.
create type import_row as (
  line bigint, line_table text, table_name text, place bigint, object jsonb,
  external_id text, made text, lists jsonb, id bigint, is_new boolean, current jsonb
);

-- A record that a row names by a column, or its own one, by `id`. Of a new record the source is the first line that
-- adds it. Tags are looked up when they are needed.
create type import_reference as (
  line bigint, table_name text, place bigint, column_name text, parent text, id bigint, source bigint
);

-- What became of a line: it was added, changed or refused, that for this column of a row, and for a reason.
create type import_outcome as (line bigint, operation text, column_name text, place bigint, reason text);

create function without_refused(rows import_row[], outcomes import_outcome[]) returns import_row[]
  language sql immutable as $$
  with refused as materialized (
    select outcome.line from unnest(outcomes) as outcome where operation = 'refused'
  )
  select case
    when exists (select from refused)
      then array(select row from unnest(rows) as row where line not in (select refused.line from refused))
    else rows
  end
$$;

-- The slug that an external id says, as an export names a record without one; null if it says none.
create function said_slug(external_id text) returns text language sql immutable as $$
  select substring(external_id from '^slug:([^/?#%\\]+)$')
$$;

-- The slug that a new record must get, if the line says one.
create function requested_slug(record import_row) returns text language sql immutable as $$
  select coalesce(record.object ->> 'slug', said_slug(record.external_id))
$$;

create function import_rows(lines import_line[]) returns import_row[] language sql immutable as $$
  select array(
    select cast(row(
      number, line.table_name, row.table_name, place, row.object, row.object ->> 'id', made,
      case when place = 0 then lists end, null, null, null
    ) as import_row)
    from
      unnest(lines) as line
      cross join lateral (
        select line.table_name, 0, line.object
        union all
        select list_table, place, element
        from
          jsonb_each(lists) as list (list_table, elements)
          cross join lateral jsonb_array_elements(elements) with ordinality as listed (element, place)
      ) as row (table_name, place, object)
  )
$$;

-- The records of a table that lines mean: clients by their ids, others by their external ids.
create function imported_ids(target text, names text[]) returns table (name text, id bigint)
  language plpgsql as $$
  begin
    if target = 'clients' then
      return query
        select cast(clients.id as text), clients.id from clients where clients.id = any(cast(names as bigint[]));
    else
      return query execute format(
        $sql$
          select distinct on (name) name, id
          from (
            select 1, external_id, id from %1$I where external_id = any($1)
            union all
            select 2, 'slug:' || slug, id from %1$I where slug = any($2) and external_id is null
            union all
            select 3, external_id, contributor_id
            from former_external_ids
            where %1$L = 'contributors' and external_id = any($1)
            union all
            select 4, 'slug:' || slug, contributor_id from former_slugs where %1$L = 'contributors' and slug = any($2)
          ) as found (rank, name, id)
          order by name, rank
        $sql$,
        target
      )
      using names, array(select said_slug(called) from unnest(names) as called where said_slug(called) is not null);
    end if;
  end
$$;

-- The records that rows name. One that a line adds gets its id here.
create function import_references(rows import_row[]) returns import_reference[] language sql as $$
  -- Materialized, so that PostgreSQL reads its catalogue once instead of for each row.
  with keys as materialized (
    select table_name, column_name, parent from foreign_keys() where parent <> 'tags'
    union all
    select table_name, 'id', table_name from history_tables() where noun is null
  ), named as materialized (
    select line, table_name, place, column_name, parent, object ->> column_name as name
    from unnest(rows) join keys using (table_name)
    where object ->> column_name is not null
  ), known as materialized (
    select parent, record.name, record.id, cast(null as bigint) as source
    from
      (select parent, array_agg(distinct name) as names from named group by parent) as requested
      cross join lateral imported_ids(parent, names) as record
  ), added as materialized (
    select
      parent, name,
      case parent when 'clients' then cast(name as bigint) else nextval(pg_get_serial_sequence(parent, 'id')) end as id,
      source
    from (
      select parent, name, min(line) as source
      from named
      where column_name = 'id' and (parent, name) not in (select parent, name from known)
      group by parent, name
      order by source
    ) as new
  )
  select array(
    select cast(row(line, table_name, place, column_name, parent, record.id, record.source) as import_reference)
    from named left join (select * from known union all select * from added) as record using (parent, name)
  )
$$;

-- The rows with the ids of their owners and of the records that they name, and with what is stored.
create function known_rows(rows import_row[], leads import_reference[]) returns import_row[] language sql as $$
  with own as materialized (
    select line, parent, id, source from unnest(leads) where column_name = 'id'
  ), present as materialized (
    select parent, cast(key ->> 0 as bigint) as id, record.current
    from
      (
        select parent, jsonb_agg(jsonb_build_array(id)) as keys from own where source is null group by parent
      ) as named
      cross join lateral current_rows(parent, keys) as record
  ), led as (
    select line, table_name, place, jsonb_object_agg(column_name, id) as ids
    from unnest(leads)
    group by line, table_name, place
  )
  select array(
    select cast(row(
      line, line_table, table_name, place, jsonb_build_object(listed.owner, own.id) || object || coalesce(ids, '{}'),
      external_id, made, lists, own.id, own.id is not null and present.id is null, coalesce(present.current, '{}')
    ) as import_row)
    from
      unnest(rows) as row
      join history_tables() as listed using (table_name)
      left join own using (line)
      left join led using (line, table_name, place)
      left join present on place = 0 and (present.parent, present.id) = (own.parent, own.id)
  )
$$;

-- Why lines of a table are refused: by themselves, or since there is no such record as they name, or a later line adds
-- it, or that was refused, or they name one twice, or a relation leads to its own record. A name is free if an earlier
-- line takes it from its owner. If that line is refused in its turn, the unique index fails the batch, and its halves
-- follow.
create function import_refusals(target text, rows import_row[], leads import_reference[])
  returns setof import_outcome language plpgsql as $$
  declare
    named text = case target when 'contributors' then 'first_name' else 'name' end;
    owner_column text = (select owner from history_tables() where table_name = target);
  begin
    return query
      select line, 'refused', target || '.' || problem[1], place, problem[2]
      from
        unnest(rows) as row
        cross join lateral (select object ->> 'slug', said_slug(external_id)) as own (slug, said)
        cross join lateral (
          select case
            when is_new and object ->> named is null then array[named, 'a new record needs it']
            when not is_new and slug <> current ->> 'slug'
              then array['slug', 'expected the slug that the record has, which does not change']
            when is_new and slug <> said then array['slug', 'expected the slug that externalId says']
            when is_new and coalesce(slug, said) is not null and slug_exists(target, coalesce(slug, said))
              then array['slug', 'another record has it']
            when object ->> 'relation_id' = object ->> owner_column
              then array['relation_id', 'expected another record, not the same one']
            when target = 'contributors' and not current @> object and exists (
              select
              from
                jsonb_to_record(current || object)
                  as latest (first_name text, last_name text, disambiguation text)
                join contributors as other
                  on identity_key(other.first_name) = identity_key(latest.first_name)
                  and identity_key(other.last_name) = identity_key(latest.last_name)
                  and identity_key(other.disambiguation) = identity_key(latest.disambiguation)
              where
                other.id <> row.id
                and not exists (
                  select from unnest(rows) as earlier
                  where (earlier.line_table, earlier.id) = (target, other.id) and earlier.line < row.line
                )
            ) then array['first_name', 'another contributor has this name']
          end
        ) as found (problem)
      where line_table = target and place = 0 and problem is not null;
    return query
      select line, 'refused', table_name || '.' || column_name, place, reason
      from
        (
          select *, row_number() over (partition by line, table_name, column_name, id order by place) as copy
          from unnest(leads)
          where line in (select row.line from unnest(rows) as row where line_table = target)
        ) as lead (line, table_name, place, column_name, parent, id, source, copy)
        cross join lateral (
          select case
            when id is null or source > line or source not in (select row.line from unnest(rows) as row)
              then 'there is none, neither in the database nor on an earlier line'
            -- By another of its external ids.
            when copy > 1 and column_name = any(key_columns(table_name))
              then 'expected another record, not the same one as of an element before'
          end
        ) as found (reason)
      where reason is not null
      order by line, place, column_name;
  end
$$;

-- Why lines of a table are refused for an image: another record has it, or an earlier line gets it, or it is about to
-- be removed.
create function refused_images(target text, rows import_row[]) returns setof import_outcome
  language plpgsql as $$
  begin
    return query
      select line, 'refused', column_name, place, reason
      from
        (
          select line, table_name || '.' || field, place, image, row_number() over (partition by image order by line)
          from
            unnest(rows)
            cross join lateral (values ('image', object ->> 'image'), ('cover', object ->> 'cover'))
              as said (field, image)
          where
            line_table = target
            and image <> coalesce(current ->> field, '')
            and not exists (
              select from volumes where cover = image and series_id = cast(object -> 'series_id' as bigint)
            )
        ) as used (line, column_name, place, image, rank)
        cross join lateral (
          select case
            when rank > 1
              or exists (select from contributors where contributors.image = used.image)
              or exists (select from publishers where publishers.image = used.image)
              or exists (select from users where users.image = used.image)
              or exists (select from volumes where cover = used.image)
              then 'another record has it'
            when exists (select from images_to_remove where key = used.image) then 'this image is about to be removed'
          end
        ) as found (reason)
      where reason is not null
      order by line, place;
  end
$$;
