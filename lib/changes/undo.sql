-- Takes a change back by its rows: what it inserted is deleted, what it deleted is inserted with its ids, and what it
-- updated gets its former values.

create aggregate merged(jsonb) (sfunc = jsonb_concat, stype = jsonb, initcond = '{}');

-- What a change did to a row, in whatever statements: its values before, null if it inserted the row, and after, null
-- if it deleted it; and the row as it is now, null if it is gone.
create type undo_row as (
  table_name text, kind text, owner bigint, is_own boolean, key jsonb, before jsonb, after jsonb, current jsonb
);

-- What keeps a row from being taken back: its place in a record, the value `now`, the reason if that does not say it,
-- and the newest change that touched it. With `force` the row is left out, if it is_kept, or else it is taken back
-- nevertheless, but for a column that yields. What is_refused cannot even be forced.
create type undo_conflict as (
  table_name text, key jsonb, record text, field text, now jsonb, reason text, later bigint, is_kept boolean,
  yielding text, is_refused boolean
);

create function undo_rows(wanted bigint) returns undo_row[] language sql as $$
  select array(
    with net as (
      select
        table_name, key,
        (array_agg(owner order by id desc))[1] as owner,
        case when (array_agg(before order by id))[1] is not null then merged(before order by id desc) end as before,
        case when (array_agg(after order by id desc))[1] is not null then merged(after order by id) end as after
      from changed_rows
      where change_id = wanted
      group by table_name, key
    ), present as (
      select table_name, found.key, found.current
      from
        (select table_name, jsonb_agg(key) as keys from net group by table_name) as listed
        cross join lateral current_rows(table_name, keys) as found
    )
    select cast(row(
      table_name, listed.kind, net.owner, listed.owner = 'id', key, net.before,
      case when net.before is null then net.after || jsonb_build_object(listed.owner, net.owner) else net.after end,
      present.current
    ) as undo_row)
    from net left join present using (table_name, key) join history_tables() as listed using (table_name)
    where net.before is distinct from net.after
  )
$$;

-- The newest change after this one that touched a row, or one of these columns of it; null if none is known. Changes
-- that were taken back, or only take back a later change, count if there is no other. A row that is not found by its
-- owner has had another owner, or another key, since.
create function later_change(
  undone_id bigint, wanted_table text, wanted_owner bigint, wanted_key jsonb, columns text[] default null
) returns bigint language sql stable as $$
  select coalesce(
    (
      select coalesce(
        max(change_id) filter (where undone_by is null and (undoes is null or undone_id >= any(undoes))),
        max(change_id)
      )
      from changed_rows as row join changes on changes.id = change_id
      where
        change_id > undone_id
        and owners @> array[wanted_owner]
        and table_name = wanted_table
        and row.key = wanted_key
        and (columns is null or before is null or after is null or after ?| columns)
        and transaction <> pg_current_xact_id()
    ),
    (
      select max(change_id)
      from changed_rows as row join changes on changes.id = change_id
      where
        wanted_key <> jsonb_build_array(wanted_owner)
        and change_id > undone_id
        and table_name = wanted_table
        and wanted_key in (row.key, (
          select jsonb_agg(coalesce(before -> name, row.key -> cast(place - 1 as integer)) order by place)
          from unnest(key_columns(wanted_table)) with ordinality as key_column (name, place)
        ))
        and transaction <> pg_current_xact_id()
    )
  )
$$;

-- The place of a row in its record, as `aliases/12`, or of a column of the record itself.
create function place_of(touched undo_row, column_name text default null) returns text language sql stable as $$
  select case
    when touched.is_own then coalesce(column_name, '*')
    else concat(
      regexp_replace(touched.table_name, '^' || touched.kind || '_', ''),
      '/',
      (
        select string_agg(touched.key ->> cast(place - 1 as integer), '/')
        from unnest(key_columns(touched.table_name)) with ordinality as key (name, place)
        where name <> (select owner from history_tables() where table_name = touched.table_name)
      )
    )
  end
$$;

-- Rows that are no longer as the change left them: they have other values, are gone, or are there again.
create function changed_since(change_id bigint, rows undo_row[]) returns setof undo_conflict language sql stable as $$
  select
    row.table_name, row.key, concat_ws('/', row.kind, row.owner), place_of(row, name),
    case when row.is_own then row.current -> name else row.current end, null,
    later_change(change_id, row.table_name, row.owner, row.key, array[name]), false, null, false
  from unnest(rows) as row cross join lateral jsonb_each(row.after) as field (name, value)
  where
    row.current is not null
    and row.current -> name is distinct from value
    and row.current -> name is distinct from row.before -> name
  union all
  select
    row.table_name, row.key, concat_ws('/', row.kind, row.owner), place_of(row), row.current,
    case when row.is_own then format('%s %s was deleted', initcap(row.kind), row.owner) end,
    later_change(change_id, row.table_name, row.owner, row.key), true, null, false
  from unnest(rows) as row
  where row.after is not null and row.current is null
  union all
  select
    row.table_name, row.key, concat_ws('/', row.kind, row.owner), place_of(row), row.current,
    case when row.is_own then format('There is a %s %s again', row.kind, row.owner) end,
    later_change(change_id, row.table_name, row.owner, row.key),
    row.current -> owner_column is distinct from row.before -> owner_column, null, row.is_own
  from unnest(rows) as row join history_tables() as listed (table_name, kind, owner_column) using (table_name)
  where row.after is null and row.current is not null and not row.current @> (row.before - text 'version')
$$;

-- Rows that would lead to a record that is gone, their own included.
create function missing_parents(change_id bigint, rows undo_row[]) returns setof undo_conflict language sql as $$
  with leads as (
    select
      row.table_name, row.kind, row.owner, row.key, row.is_own, place_of(row, column_name) as place, parent,
      foreign_key.parent_kind,
      coalesce(cast(row.before ->> column_name as bigint), case when column_name = owner_column then row.owner end)
        as parent_id,
      column_name = owner_column as is_owner
    from
      unnest(rows) as row
      join foreign_keys() as foreign_key using (table_name)
      join history_tables() as listed (table_name, kind, owner_column) using (table_name)
  ), gone as (
    select parent, id
    from
      (
        select parent, jsonb_agg(distinct jsonb_build_array(parent_id)) as keys, array_agg(distinct parent_id) as ids
        from leads
        where parent_id is not null
        group by parent
      ) as wanted
      cross join lateral unnest(ids) as id
    where
      id not in (select cast(key ->> 0 as bigint) from current_rows(parent, keys))
      and not exists (
        select from unnest(rows) as row where row.table_name = parent and row.owner = id and row.after is null
      )
  )
  select
    table_name, key,
    case when is_owner then concat_ws('/', parent_kind, parent_id) else concat_ws('/', kind, owner) end,
    case when is_owner then '*' else place end,
    cast(null as jsonb),
    format('%s %s was deleted', initcap(parent_kind), parent_id),
    later_change(change_id, parent, parent_id, jsonb_build_array(parent_id)),
    true, null, is_own
  from leads join gone using (parent)
  where gone.id = parent_id
$$;

-- Rows whose unique values another row has now. Identifiers yield; names do not, since people choose them.
create function taken_by_others(change_id bigint, rows undo_row[]) returns setof undo_conflict language sql as $$
  with written as (
    select
      row as touched, row.table_name, row.key, listed.owner as owner_column, coalesce(row.current, '{}') || row.before
        as object
    from unnest(rows) as row join history_tables() as listed using (table_name)
    where row.before is not null
  ), taken as (
    select table_name, found.key, columns, table_name as other_table, other_key, other_owner
    from
      (
        select table_name, owner_column, jsonb_agg(jsonb_build_object('key', key, 'values', object)) as objects
        from written
        group by table_name, owner_column
      ) as listed
      cross join lateral taken_values(table_name, owner_column, objects) as found
    union all
    -- Slugs and former slugs of contributors differ, too.
    select table_name, key, array['slug'], 'former_slugs', jsonb_build_array(former.slug), former.contributor_id
    from written join former_slugs as former on former.slug = object ->> 'slug'
    where table_name = 'contributors' and (touched).current is null
    union all
    select table_name, key, array['slug'], 'contributors', jsonb_build_array(other.id), other.id
    from written join contributors as other on other.slug = object ->> 'slug'
    where
      table_name = 'former_slugs'
      and not exists (
        select
        from unnest(rows) as same
        where same.table_name = 'contributors' and same.owner = other.id and same.before is null
      )
  ), named as (
    select
      *, (touched).is_own and columns[1] in ('slug', 'external_id') as is_yielding
    from taken join written using (table_name, key)
    where
      not exists (
        select from unnest(rows) as same where same.table_name = taken.other_table and same.key = taken.other_key
      )
  )
  select
    table_name, key, concat_ws('/', (touched).kind, (touched).owner), place_of(touched, columns[1]),
    cast(null as jsonb),
    format(
      '%s %s has %s now', initcap((touched).kind), other_owner,
      case
        when columns[1] in ('slug', 'external_id') then object ->> columns[1]
        when columns[1] like '%name' then 'the name'
        else (
          select string_agg(concat_ws(' ', name, object ->> name), ', ')
          from unnest(columns) as name
          where name <> owner_column
        )
      end
    ),
    later_change(change_id, other_table, other_owner, other_key, columns),
    not (touched).is_own,
    case when is_yielding then columns[1] end,
    (touched).is_own and not is_yielding
  from named
$$;

-- Rows that were added since, and lead to rows that would be deleted.
create function added_since(change_id bigint, rows undo_row[]) returns setof undo_conflict language sql as $$
  with added as (
    select
      listed.table_name, found.key, column_name, is_cascading,
      cast(row(
        listed.table_name, listed.kind, cast(found.current ->> listed.owner as bigint), listed.owner = 'id', found.key,
        null, null, found.current
      ) as undo_row) as touched
    from
      (
        select table_name as parent, array_agg(owner) as ids
        from unnest(rows)
        where is_own and before is null and current is not null
        group by table_name
      ) as deleted
      join foreign_keys() as foreign_key using (parent)
      join history_tables() as listed on listed.table_name = foreign_key.table_name
      cross join lateral referring_rows(foreign_key.table_name, column_name, ids) as found
  )
  select
    table_name, key, concat_ws('/', (touched).kind, (touched).owner), place_of(touched), (touched).current,
    case when not is_cascading then format('%s %s needs it', initcap((touched).kind), (touched).owner) end,
    later_change(change_id, table_name, (touched).owner, key), false, cast(null as text), not is_cascading
  from added
  where
    not exists (
      select
      from unnest(rows) as same
      where
        same.table_name = added.table_name
        and same.key = added.key
        and (same.before is null or same.before ? added.column_name)
    )
$$;

-- The image that a user or a contributor would get back, if its objects are gone.
create function without_images(rows undo_row[]) returns setof undo_conflict language sql stable as $$
  select
    row.table_name, row.key, concat_ws('/', row.kind, row.owner), 'image', cast(null as jsonb),
    'Its image is removed', cast(null as bigint), false,
    'image', false
  from unnest(rows) as row cross join lateral (select row.before ->> 'image') as former (image)
  where
    row.table_name in ('users', 'contributors')
    and image is not null
    and not is_available(image)
    and not exists (select from users where users.image = former.image)
    and not exists (select from contributors where contributors.image = former.image)
$$;

-- The version of a record that is there again is higher than any that it had, also if it was deleted several times.
create function with_next_version(touched undo_row) returns jsonb language sql stable as $$
  select case
    when touched.before -> 'version' is null then touched.before
    else touched.before || jsonb_build_object('version', (
      select 1 + max(cast(before ->> 'version' as bigint))
      from changed_rows
      where owners @> array[touched.owner] and table_name = touched.table_name and key = touched.key and after is null
    ))
  end
$$;

-- Takes rows back: names become free before rows get them, and rows come before what leads to them. A row that leaves a
-- record which is deleted would be deleted with it, so it is deleted and inserted. Roles are taken from users last, or
-- a user without one in between would get the default role.
create function take_back(rows undo_row[]) returns void language plpgsql as $$
  #variable_conflict use_column
  declare
    step integer;
    table_name text;
    keys jsonb;
    objects jsonb;
    ids bigint[];
  begin
    for step, table_name, keys, objects in
      with foreign_key as materialized (
        select * from foreign_keys()
      ), deleted as (
        select table_name, owner from unnest(rows) where is_own and before is null and current is not null
      ), listed as (
        select
          row.*, depth,
          exists (
            select from foreign_key where foreign_key.table_name = row.table_name and row.before ? column_name
          ) as has_parent,
          exists (
            select
            from foreign_key
            where
              foreign_key.table_name = row.table_name
              and row.before ? column_name
              and (parent, cast(row.current ->> column_name as bigint)) in (select table_name, owner from deleted)
          ) as is_leaving
        from unnest(rows) as row join table_depths() using (table_name)
      ), split as (
        select *
        from listed
        where not is_leaving or is_own
        union all
        select table_name, kind, owner, is_own, key, half.before, after, half.current, depth, has_parent, is_leaving
        from
          listed
          cross join lateral (
            values (cast(null as jsonb), current), (current || before, null)
          ) as half (before, current)
        where is_leaving and not is_own
      ), sorted as (
        select
          *,
          case
            when before is null then case table_name when 'user_roles' then 5 else 1 end
            when current is null then 3
            when is_leaving then 0
            else case when has_parent then 4 else 2 end
          end as step
        from split
      )
      select
        sorted.step, table_name, jsonb_agg(key),
        jsonb_agg(case
          when current is null then with_next_version(cast(row(
            table_name, kind, owner, is_own, key, before, after, current
          ) as undo_row))
          else jsonb_build_object('key', key, 'values', (
            select coalesce(jsonb_object_agg(name, value), '{}')
            from jsonb_each(before) as field (name, value)
            where value is distinct from current -> name and name <> 'version'
          ))
        end)
      from sorted
      group by sorted.step, table_name, depth
      order by sorted.step, case when sorted.step in (1, 5) then -depth else depth end
    loop
      if step in (1, 5) then
        perform delete_rows(table_name, keys);
      elsif step = 3 then
        perform insert_rows(table_name, objects);
      else
        perform update_rows(table_name, objects);
      end if;
    end loop;

    -- Whatever belongs to a record, the record has a new version.
    for table_name, ids in
      select own.table_name, array_agg(distinct row.owner)
      from unnest(rows) as row join history_tables() as own on own.kind = row.kind and own.owner = 'id'
      where
        exists (
          select
          from pg_attribute
          where attrelid = cast(own.table_name as regclass) and attname = 'version' and not attisdropped
        )
        and not exists (
          select
          from unnest(rows) as itself
          where
            itself.is_own
            and itself.kind = row.kind
            and itself.owner = row.owner
            and (itself.before is null or itself.current is null)
        )
      group by own.table_name
    loop
      execute format('update %I set version = version + 1 where id = any($1)', table_name) using ids;
    end loop;
  end
$$;

-- What a change may never leave behind: an Administrator role without a user or one of this service's permissions, and
-- records with more elements than the API allows.
create function refuse_undo(reason text) returns void language plpgsql as $$
  begin
    raise sqlstate 'REFUS' using message = reason;
  end
$$;

create function administrator_permissions() returns bigint[] language sql stable as $$
  select array(
    select permission_id
    from
      role_permissions
      join roles on roles.id = role_id
      join permissions on permissions.id = permission_id
    where roles.key = 'administrator' and permissions.key is not null
  )
$$;

create function has_administrators() returns boolean language sql stable as $$
  select exists (select from user_roles join roles on roles.id = role_id where key = 'administrator')
$$;

create function refuse_excess(rows undo_row[]) returns void language plpgsql as $$
  declare
    error text = (
      select min(excess(kind, owners))
      from (
        select row.kind, array_agg(distinct row.owner) as owners
        from unnest(rows) as row
        where row.current is null
        group by row.kind
      ) as touched
    );
  begin
    if error is not null then
      perform refuse_undo(error);
    end if;
  end
$$;

-- Why a change cannot be taken back at all, or null.
create function undo_error(change changes) returns text language plpgsql stable as $$
  begin
    return case
      when change.undone_by is not null then format('It was undone by change %s', change.undone_by)
      when change.endpoint = 'admin-users/delete' then 'A deleted user is deleted for good'
      when change.endpoint in ('admin-users/logout', 'sign-out') then 'Sessions that were ended stay ended'
      when change.endpoint in ('ops/issue-refresh-token', 'sign-in/callback') then 'Log the user out instead'
      when not exists (select from history where change_id = change.id)
        then 'It changed nothing, or what it did is forgotten'
      else (
        select kept
        from history_tables() as listed join changed_rows using (table_name)
        where kept is not null and change_id = change.id and (before is null or after is null)
        limit 1
      )
    end;
  end
$$;

-- A change as a conflict names it.
create function named_change(change_id bigint) returns jsonb language sql stable as $$
  select jsonb_build_object('change', id, 'endpoint', endpoint, 'role', role, 'at', at, 'userId', caller_id)
  from changes
  where id = change_id
$$;

-- A value as an answer has it, which is shown to people.
create function excerpt(value jsonb) returns jsonb language sql immutable as $$
  select case
    when length(cast(value as text)) > 300 then to_jsonb(left(cast(value as text), 300) || '…')
    else value
  end
$$;

-- The first hundred conflicts as an answer has them, once for each place.
create function conflicts_in_answer(change_id bigint, conflicts undo_conflict[]) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(conflict), '[]')
  from (
    select distinct on (record, field)
      jsonb_strip_nulls(jsonb_build_object(
        'change', change_id, 'record', record, 'field', field, 'reason', reason
      )) || jsonb_build_object('now', excerpt(now), 'later', named_change(later)) as conflict
    from unnest(conflicts)
    order by record, field, later desc nulls last
    limit 100
  ) as listed
$$;

create function reason_of(conflict undo_conflict) returns text language sql immutable as $$
  select concat(
    coalesce(conflict.reason, 'It is gone'), ', by change ' || conflict.later || ', undo that first'
  )
$$;

-- Takes a change back. Returns what was `overridden` and `leftOut`, or the `conflicts`, or the `reason` why it is
-- refused.
create function undo_change(change changes, is_forced boolean) returns jsonb language plpgsql as $$
  declare
    reason text = undo_error(change);
    had_administrators boolean = has_administrators();
    former_permissions bigint[] = administrator_permissions();
    rows undo_row[];
    missing undo_conflict[];
    conflicts undo_conflict[];
    left_out undo_conflict[];
    refusing undo_conflict;
  begin
    if reason is not null then
      return jsonb_build_object('reason', reason);
    end if;
    rows = undo_rows(change.id);
    missing = array(select conflict from missing_parents(change.id, rows) as conflict);
    conflicts = missing || array(
      select conflict
      from (
        select conflict from changed_since(change.id, rows) as conflict
        union all
        select conflict from taken_by_others(change.id, rows) as conflict
        union all
        select conflict from added_since(change.id, rows) as conflict
      ) as found
      where
        ((conflict).table_name, (conflict).key) not in (select table_name, key from unnest(missing))
    );
    -- Of a change whose records are all gone nothing can be taken back.
    select * into refusing
    from unnest(conflicts)
    where
      is_refused
      or not exists (
        select from unnest(rows) where (table_name, key) not in (
          select table_name, key from unnest(conflicts) where is_kept and field = '*'
        )
      )
    order by later desc nulls last
    limit 1;
    if found then
      return jsonb_build_object('reason', reason_of(refusing));
    end if;
    -- Deleted users cannot come back, so what was theirs is left out in any case.
    left_out = array(
      select conflict from without_images(rows) as conflict
      union all
      select conflict from unnest(missing) as conflict where record like 'user/%' and field = '*'
    );
    conflicts = array(select unnest(conflicts) except select unnest(left_out));
    if conflicts <> '{}' and not is_forced then
      return jsonb_build_object('conflicts', conflicts_in_answer(change.id, conflicts));
    end if;

    left_out = left_out || array(
      select conflict from unnest(conflicts) as conflict where conflict.is_kept or conflict.yielding is not null
    );
    rows = array(
      select jsonb_populate_record(row, jsonb_build_object(
        'before', row.before - array(
          select yielding
          from unnest(left_out) as conflict
          where
            conflict.table_name = row.table_name
            and conflict.key = row.key
            and yielding is not null
            and (yielding <> 'slug' or row.current is not null)
        )
      ))
      from unnest(rows) as row
      where (table_name, key) not in (select table_name, key from unnest(left_out) where is_kept)
    );
    rows = array(
      select row
      from unnest(rows) as row
      where
        row.current is null
        or row.before is null
        or row.current || (row.before - text 'version') <> row.current
    );
    if rows = '{}' then
      return jsonb_build_object('reason', coalesce(
        (select reason_of(conflict) from unnest(left_out) as conflict order by later desc nulls last limit 1),
        'It is already as it was before'
      ));
    end if;
    perform take_back(rows);
    if had_administrators and not has_administrators() then
      perform refuse_undo('The Administrator role would lose its last user');
    end if;
    if not administrator_permissions() @> former_permissions then
      perform refuse_undo('The Administrator role would lose a permission of this service');
    end if;
    perform refuse_excess(rows);
    return jsonb_build_object(
      'overridden', conflicts_in_answer(change.id, array(
        select conflict from unnest(conflicts) as conflict where not conflict.is_kept and conflict.yielding is null
      )),
      'leftOut', conflicts_in_answer(change.id, left_out)
    );
  exception
    when sqlstate 'REFUS' then
      return jsonb_build_object('reason', sqlerrm);
    when integrity_constraint_violation then
      get stacked diagnostics reason = constraint_name;
      return jsonb_build_object('reason', format('It would break %s', reason));
  end
$$;
