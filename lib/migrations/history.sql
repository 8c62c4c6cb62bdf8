-- One history of all tables: what a transaction did to their rows, and which cache tags that makes stale. It is written
-- again after every migration, so a new column needs nothing here, and a new table one line.

-- A release may give the list other columns, which PostgreSQL does not replace.
drop function if exists history_tables();

-- The tables whose rows are recorded, each behind those that its foreign keys reference. First those of records, then
-- those of their elements: a row is a `noun` of the record whose id is in the column named after the `kind`, and a
-- record may have `max` of them. Triggers keep `derived` columns, which are neither recorded nor brought back, as
-- generated ones. A cache tag that ends with a hyphen is completed by the record's id. What is `kept` is neither
-- removed nor brought back by an undo, for this reason.
create function history_tables() returns table (
  table_name text, kind text, owner text, noun text, derived text[], tags text[], max bigint, kept text
) language sql immutable as $$
  select
    table_name, kind, case when noun is null then 'id' else kind || '_id' end, noun, cast(derived as text[]),
    cast(tags as text[]), max, kept
  from (
    values
      ('clients', 'client', null, null, '{}', '{}', null),
      ('users', 'user', null, null, '{}', '{changed_at}', 'Delete the user in the panel instead, which is for good'),
      ('roles', 'role', null, null, '{}', '{changed_at}', null),
      ('permissions', 'permission', null, null, '{}', '{changed_at}', null),
      ('contributors', 'contributor', null, null, '{contributor-, contributors}', '{alias_keys}', null),
      ('publishers', 'publisher', null, null, '{publisher-, publishers}', '{alias_keys, changed_at}', null),
      ('series', 'series', null, null, '{series-, series}', '{alias_keys, changed_at}', null),
      ('tags', 'tag', null, null, '{tag-, tags, series}', '{}', null),
      ('user_roles', 'user', 'role', 200, '{}', '{username_key, registered}', null),
      ('identities', 'user', 'identity', null, '{}', '{}', 'Give or take the link by ops/link-identity instead'),
      ('role_permissions', 'role', 'permission', 500, '{}', '{}', null),
      ('contributor_links', 'contributor', 'link', 50, '{contributor-}', '{}', null),
      ('contributor_aliases', 'contributor', 'alias', 200, '{contributor-, contributors}', '{}', null),
      ('contributor_descriptions', 'contributor', 'description', 40, '{contributor-}', '{}', null),
      ('contributor_relations', 'contributor', 'relation', 100, '{contributor-}', '{}', null),
      ('former_slugs', 'contributor', 'former slug', null, '{contributor-}', '{}', null),
      ('former_external_ids', 'contributor', 'former external id', null, '{}', '{}', null),
      ('publisher_aliases', 'publisher', 'alias', null, '{publisher-, publishers}', '{}', null),
      ('publisher_descriptions', 'publisher', 'description', null, '{publisher-}', '{}', null),
      ('publisher_relations', 'publisher', 'relation', 100, '{publisher-}', '{}', null),
      ('series_aliases', 'series', 'alias', null, '{series-, series}', '{}', null),
      ('series_descriptions', 'series', 'description', null, '{series-, series}', '{}', null),
      ('series_tags', 'series', 'tag', null, '{series-, series}', '{}', null),
      ('series_contributors', 'series', 'contributor', null, '{series-, series}', '{}', null),
      ('series_publishers', 'series', 'publisher', null, '{series-, series}', '{}', null),
      ('volumes', 'series', 'volume', null, '{series-, series}', '{}', null)
  ) as listed (table_name, kind, noun, max, tags, derived, kept)
$$;

create or replace function key_columns(table_name text) returns text[] language sql stable as $$
  select array_agg(cast(attname as text) order by position)
  from
    pg_index
    cross join lateral unnest(indkey) with ordinality as key (attnum, position)
    join pg_attribute on attrelid = indrelid and pg_attribute.attnum = key.attnum
  where indrelid = cast(table_name as regclass) and indisprimary
$$;

-- The change that this transaction is; it begins with its first row of history, and has the request that the service's
-- functions have set (lib/changes/request.sql). A login may set the parameter to anything, so it counts only if it
-- names a change of this transaction. With a path of its own its plans serve both the triggers and the service's
-- functions; those of a session that began with an empty table must not read the whole table later.
create or replace function current_change() returns bigint
  language plpgsql
  set search_path = public, pg_temp
  set enable_seqscan = off
  as $$
    declare
      current bigint = nullif(current_setting('colophon.change', true), '');
    begin
      if current is not null then
        if exists (select from changes where id = current and transaction = pg_current_xact_id()) then
          return current;
        end if;
      end if;
      insert into changes (endpoint, key, request_id, fingerprint, caller_id, username, operator, reason)
      select endpoint, key, request_id, fingerprint, caller_id, username, operator, reason
      from json_populate_record(
        cast(null as changes), cast(nullif(current_setting('colophon.request', true), '') as json)
      )
      returning id into current;
      perform set_config('colophon.change', cast(current as text), true);
      return current;
    end
  $$;

-- Tags that a hyphen ends are completed by these ids, but not by that of an element without an owner. There are none if
-- only versions changed. A transaction has at most fifty rows, or else the one row `everything`.
create or replace function add_stale_tags(tags text[], ids bigint[]) returns void
  language plpgsql
  set enable_seqscan = off
  as $$
    begin
      if tags = '{}' or ids is null then
        return;
      end if;
      insert into stale_tags (tag)
      select distinct case when tag like '%-' then tag || id else tag end
      from unnest(tags) as tag cross join unnest(ids) as id
      where
        not exists (select from stale_tags where transaction = pg_current_xact_id() and tag = 'everything')
        and (id is not null or tag not like '%-')
      limit 51
      on conflict do nothing;
      if (
        select count(*) > 50 or count(*) > 1 and bool_or(tag = 'everything')
        from stale_tags
        where transaction = pg_current_xact_id()
      ) then
        delete from stale_tags where transaction = pg_current_xact_id();
        insert into stale_tags (tag) values ('everything');
      end if;
    end
  $$;

-- The next four functions run behind each statement. Their arguments are the owner's column, the columns of the primary
-- key, those that are not recorded, and the tags. The parameters are set for texts of values that do not depend on the
-- session. Each statement in them is kept simple, and its plan is kept: to begin one takes longer than to run it. A
-- statement that touches many rows is recorded by a thousand, since a JSON array cannot exceed 256 MB.

-- A truncation is not recorded, and everything is stale; likewise what the owner of the database loads with recording
-- off, by the parameter colophon.recording.
create or replace function record_truncated() returns trigger
  language plpgsql security definer
  set search_path = public, pg_temp
  as $$
    begin
      if tg_argv[3] <> '{}' then
        perform add_stale_tags('{everything}', '{0}');
      end if;
      return null;
    end
  $$;

create or replace function record_inserted() returns trigger
  language plpgsql security definer
  set search_path = public, pg_temp
  set timezone = 'UTC'
  set extra_float_digits = 1
  set intervalstyle = 'postgres'
  set bytea_output = 'hex'
  set plan_cache_mode = force_generic_plan
  as $$
    declare
      owner_column text = tg_argv[0];
      key_columns text[] = tg_argv[1];
      ignored text[] = cast(tg_argv[2] as text[]) || text 'version';
      tags text[] = tg_argv[3];
      touched bigint[];
    begin
      if current_setting('colophon.recording', true) = 'off' and session_user = current_user then
        perform add_stale_tags('{everything}', '{0}') where tags <> '{}';
        return null;
      end if;
      for touched in
        insert into history (change_id, table_name, owners, keys, after)
        select
          current_change(), tg_table_name, array_agg(cast(row ->> owner_column as bigint)),
          jsonb_agg(to_jsonb(array(select row -> name from unnest(key_columns) as name))), jsonb_agg(row)
        from (select to_jsonb(added) - ignored as row, (row_number() over () - 1) / 1000 as part from added) as inserted
        group by part
        returning owners
      loop
        perform add_stale_tags(tags, touched);
      end loop;
      return null;
    end
  $$;

create or replace function record_deleted() returns trigger
  language plpgsql security definer
  set search_path = public, pg_temp
  set timezone = 'UTC'
  set extra_float_digits = 1
  set intervalstyle = 'postgres'
  set bytea_output = 'hex'
  set plan_cache_mode = force_generic_plan
  as $$
    declare
      owner_column text = tg_argv[0];
      key_columns text[] = tg_argv[1];
      ignored text[] = tg_argv[2];
      tags text[] = tg_argv[3];
      touched bigint[];
    begin
      if current_setting('colophon.recording', true) = 'off' and session_user = current_user then
        perform add_stale_tags('{everything}', '{0}') where tags <> '{}';
        return null;
      end if;
      for touched in
        insert into history (change_id, table_name, owners, keys, before)
        select
          current_change(), tg_table_name, array_agg(cast(row ->> owner_column as bigint)),
          jsonb_agg(to_jsonb(array(select row -> name from unnest(key_columns) as name))), jsonb_agg(row)
        from (select to_jsonb(removed) - ignored as row, (row_number() over () - 1) / 1000 as part from removed) as gone
        group by part
        returning owners
      loop
        perform add_stale_tags(tags, touched);
      end loop;
      return null;
    end
  $$;

-- PostgreSQL lists the old and the new rows of an update in the same order.
create or replace function record_updated() returns trigger
  language plpgsql security definer
  set search_path = public, pg_temp
  set timezone = 'UTC'
  set extra_float_digits = 1
  set intervalstyle = 'postgres'
  set bytea_output = 'hex'
  set plan_cache_mode = force_generic_plan
  as $$
    declare
      owner_column text = tg_argv[0];
      key_columns text[] = tg_argv[1];
      ignored text[] = tg_argv[2];
      tags text[] = tg_argv[3];
      old_rows jsonb[];
      new_rows jsonb[];
      touched bigint[];
      part_size bigint;
      recorded bigint = 0;
    begin
      if current_setting('colophon.recording', true) = 'off' and session_user = current_user then
        perform add_stale_tags('{everything}', '{0}') where tags <> '{}';
        return null;
      end if;
      old_rows = array(select to_jsonb(removed) - ignored from removed);
      new_rows = array(select to_jsonb(added) - ignored from added);
      if old_rows = new_rows then
        return null;
      end if;
      for touched, part_size in
        insert into history (change_id, table_name, owners, keys, before, after)
        select
          current_change(), tg_table_name,
          array_agg(cast(new_row ->> owner_column as bigint)) || array_agg(cast(old_row ->> owner_column as bigint))
            filter (where old_row -> owner_column <> new_row -> owner_column),
          jsonb_agg(to_jsonb(array(select new_row -> name from unnest(key_columns) as name))), jsonb_agg(before),
          jsonb_agg(after)
        from
          unnest(old_rows, new_rows) with ordinality as row (old_row, new_row, position)
          cross join lateral (
            select jsonb_object_agg(name, value) as before, jsonb_object_agg(name, new_row -> name) as after
            from jsonb_each(old_row) as field (name, value)
            where value <> new_row -> name and name <> 'version'
          ) as changed
        where not before ?| key_columns
        group by (position - 1) / 1000
        returning owners, jsonb_array_length(keys)
      loop
        recorded = recorded + part_size;
        perform add_stale_tags(tags, touched);
      end loop;
      if recorded < cardinality(new_rows) then
        perform add_stale_tags(tags, record_moved(tg_table_name, owner_column, key_columns, old_rows, new_rows));
      end if;
      return null;
    end
  $$;

-- Records rows that got another key as deleted and inserted. Returns their owners, if there are such rows.
create or replace function record_moved(
  table_name text, owner_column text, key_columns text[], old_rows jsonb[], new_rows jsonb[]
) returns bigint[] language sql set search_path = public, pg_temp as $$
  insert into history (change_id, table_name, owners, keys, before, after)
  select
    current_change(), record_moved.table_name, array_agg(cast(row ->> owner_column as bigint)),
    jsonb_agg(to_jsonb(array(select row -> name from unnest(key_columns) as name))), jsonb_agg(before), jsonb_agg(after)
  from
    unnest(old_rows, new_rows) as pair (old_row, new_row)
    cross join lateral (
      values (old_row, old_row, cast(null as jsonb)), (new_row, null, new_row - text 'version')
    ) as half (row, before, after)
  where exists (select from unnest(key_columns) as name where old_row -> name <> new_row -> name)
  having count(*) > 0
  returning owners
$$;

-- Each table has the triggers that the list and the catalogue of PostgreSQL say. Others are left as they are, since a
-- new one waits for all transactions that write its table.
do $$
  declare
    missing record;
  begin
    for missing in
      select table_name, function, event
      from
        history_tables() as listed
        cross join (
          values ('insert', 'inserted'), ('update', 'updated'), ('delete', 'deleted'), ('truncate', 'truncated')
        ) as recorded (event, participle)
        cross join lateral format(
          'record_%s(%L, %L, %L, %L)',
          participle,
          owner,
          key_columns(table_name),
          derived || array(
            select cast(attname as text)
            from pg_attribute
            where attrelid = cast(table_name as regclass) and attgenerated <> '' and not attisdropped
            order by attnum
          ),
          tags
        ) as function
      where
        not exists (
          select
          from pg_trigger
          where
            tgrelid = cast(table_name as regclass)
            and tgname = 'record_' || event
            and pg_get_triggerdef(oid) like '% ' || replace(function, '_', '\_')
        )
    loop
      call add_triggers(missing.table_name, 'record', missing.function, array[missing.event]);
    end loop;
  end
$$;

-- An undo brings rows back before those that they reference, so foreign keys are checked when it is done.
do $$
  declare
    foreign_key record;
  begin
    for foreign_key in
      select cast(conrelid as regclass) as table_name, conname as name
      from pg_constraint
      where
        contype = 'f'
        and not condeferrable
        and conrelid in (select cast(table_name as regclass) from history_tables())
        and confrelid in (select cast(table_name as regclass) from history_tables())
    loop
      execute format('alter table %s alter constraint %I deferrable', foreign_key.table_name, foreign_key.name);
    end loop;
  end
$$;

-- Takes a record's rows out of the history, but for those of elements that hold nothing but ids. What else their
-- statements did is inserted again. Of operators' changes that touched the record, or whose result names it, the result
-- goes, since those of undo and merge have texts.
create or replace function forget_record(record_kind text, record_id bigint) returns void
  language sql
  as $$
    update changes
    set result = null
    where
      caller_id is null
      and result is not null
      and (
        id in (
          select change_id
          from history join history_tables() using (table_name)
          where owners @> array[record_id] and kind = record_kind
        )
        or cast(result as text) ~ format('"(%1$s/|%1$sId"\W+)%2$s\M', record_kind, record_id)
      );

    with forgotten as (
      select change_id, id, position
      from changed_rows as row join history_tables() as listed using (table_name)
      where
        owners @> array[record_id]
        and row.owner = record_id
        and kind = record_kind
        and (
          noun is null
          or jsonb_path_exists(jsonb_build_array(key, before, after), 'strict $.** ? (@.type() == "string")')
        )
    ), deleted as (
      delete from history where (change_id, id) in (select change_id, id from forgotten) returning change_id, id
    )
    insert into history (change_id, id, table_name, owners, keys, before, after) overriding system value
    select
      change_id, id, table_name, array_agg(owner order by position), jsonb_agg(key order by position),
      jsonb_agg(before order by position), jsonb_agg(after order by position)
    from deleted join changed_rows using (change_id, id)
    where (change_id, id, position) not in (select change_id, id, position from forgotten)
    group by change_id, id, table_name
  $$;
