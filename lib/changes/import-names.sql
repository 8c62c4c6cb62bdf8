-- What lines of a file are about: their records, and those that they reference. The function of the import has checked
-- the fields of each.

-- A line about a record of a table, or about a relation. The `object` has the values of its columns, and `lists` those
-- of its elements, by their tables. The `id` is that of its record. A line names records by their external ids, and
-- clients by their ids; `names` has these, each with its table. A new record without a slug gets the one that is `made`
-- from its name.
create type import_line as (
  number bigint, table_name text, made text, object jsonb, lists jsonb, names jsonb, id bigint
);

-- What became of a record, or of a relation of it: it was added or changed, with the client that it had before, and
-- whether it became public. A line that was refused has its number and the reason.
create type import_outcome as (
  line bigint, table_name text, id bigint, operation text, client_id bigint, is_published boolean, reason text
);

-- The slug that an external id names, as an export names a record without one; null if it names none.
create function named_slug(external_id text) returns text language sql immutable as $$
  select substring(external_id from '^slug:([^/?#%\\]+)$')
$$;

-- The records of these names, by table and name: their ids, and of a new record also the first line about it. If the
-- file is a client's, other records have the id null.
create function imported_records(lines import_line[], client bigint) returns jsonb language plpgsql as $$
  begin
    return (
      with named as materialized (
        select parent, name, named_slug(name) as slug, min(number) filter (where is_own) as line
        from
          unnest(lines)
          cross join lateral (
            select pair ->> 0, pair ->> 1, table_name = pair ->> 0 and object ->> 'id' = pair ->> 1
            from jsonb_array_elements(names) as pair
          ) as record (parent, name, is_own)
        group by parent, name
      ), known as materialized (
        select distinct on (parent, name) parent, name, id, is_foreign
        from (
          select 1, parent, named.name, id, client_id
          from named join contributors on external_id = named.name
          where parent = 'contributors'
          union all
          select 2, parent, named.name, id, client_id
          from named join contributors using (slug)
          where parent = 'contributors' and external_id is null
          union all
          select 3, parent, named.name, id, client_id
          from
            named
            join former_external_ids on former_external_ids.external_id = named.name
            join contributors on id = contributor_id
          where parent = 'contributors'
          union all
          select 4, parent, named.name, id, client_id
          from named join former_slugs using (slug) join contributors on id = contributor_id
          where parent = 'contributors'
          union all
          select 1, parent, named.name, id, client_id
          from named join publishers on external_id = named.name
          where parent = 'publishers'
          union all
          select 2, parent, named.name, id, client_id
          from named join publishers using (slug)
          where parent = 'publishers' and external_id is null
          union all
          select 1, parent, named.name, id, client_id
          from named join series on external_id = named.name
          where parent = 'series'
          union all
          select 2, parent, named.name, id, client_id
          from named join series using (slug)
          where parent = 'series' and external_id is null
          union all
          select 1, parent, named.name, id, id
          from named join clients on id = cast(case when parent = 'clients' then named.name end as bigint)
        ) as found (rank, parent, name, id, client_id)
          cross join lateral (
            select client is not null and client_id is distinct from client
          ) as owned (is_foreign)
        order by parent, name, is_foreign, rank
      ), added as (
        select
          parent, name, line,
          case parent
            when 'clients' then cast(name as bigint)
            else nextval(pg_get_serial_sequence(parent, 'id'))
          end as id
        from (
          select parent, name, line
          from named left join known using (parent, name)
          where line is not null and id is null
          order by line
        ) as new
      )
      select coalesce(jsonb_object_agg(parent, records), '{}')
      from (
        select parent, jsonb_object_agg(name, jsonb_build_object('id', id, 'line', line)) as records
        from (
          select parent, name, case when not is_foreign then id end as id, cast(null as bigint) as line from known
          union all
          select parent, name, id, line from added
        ) as record
        group by parent
      ) as by_table
    );
  end
$$;

-- The id of the record that a line names. If it is neither stored nor on an earlier line, the id is a negative one that
-- follows from the name: a foreign key refuses it, and other names have others.
create function record_id(records jsonb, table_name text, name text, line bigint) returns bigint
  language sql immutable as $$
  select case
    when name is not null then coalesce(
      case
        when coalesce(cast(records #>> array[table_name, name, 'line'] as bigint), 0) <= line
          then cast(records #>> array[table_name, name, 'id'] as bigint)
      end,
      -1 - (hashtextextended(name, 0) & 9007199254740991)
    )
  end
$$;

-- Those lines that are about a table, with the ids of their records.
create function lines_about(target text, lines import_line[], records jsonb) returns import_line[]
  language sql immutable as $$
  select array(
    select cast(row(
      number, table_name, made, object, lists, names, record_id(records, table_name, object ->> 'id', number)
    ) as import_line)
    from unnest(lines)
    where table_name = target
    order by number
  )
$$;

-- Refuses lines whose record has another slug than they say: slugs do not change, and a new record gets another one if
-- its own is taken.
create function expect_slugs(lines import_line[], records jsonb) returns void language plpgsql as $$
  declare
    missed text = (
      select object ->> 'slug'
      from
        unnest(lines) as line
        cross join lateral (select record_id(records, table_name, object ->> 'id', number)) as record (id)
      where
        object ? 'slug'
        and object ->> 'slug' <> case table_name
          when 'contributors' then (select slug from contributors where contributors.id = record.id)
          when 'publishers' then (select slug from publishers where publishers.id = record.id)
          when 'series' then (select slug from series where series.id = record.id)
        end
      limit 1
    );
  begin
    if missed is not null then
      raise integrity_constraint_violation
        using message = format('The record has, or would get, another slug than %s, which does not change', missed);
    end if;
  end
$$;
