-- Takes a change back, if each row that it touched is still as it left it, and the database allows the result. Its
-- statements are taken back one by one, the newest first, so that each finds what it left.

create aggregate merged(jsonb) (sfunc = jsonb_concat, stype = jsonb, initcond = '{}');

-- What a change did to a row, in whatever statements: its values before, null if it inserted the row, and after, null
-- if it deleted the row. Of an updated row both have only the columns that changed.
create type touched_row as (table_name text, kind text, owner bigint, key jsonb, before jsonb, after jsonb);

-- A row that is not as it should be: the columns that differ, or null if the row is missing or should not be there; and
-- its values now.
create type differing_row as (
  table_name text, kind text, owner bigint, key jsonb, columns text[], current jsonb
);

create function without_image(fields jsonb, lost text[]) returns jsonb language sql immutable as $$
  select case
    when fields ->> 'image' = any(lost)
      then fields || cast(
        case when fields ? 'image_size' then '{"image": null, "image_size": null}' else '{"image": null}' end as jsonb
      )
    else fields
  end
$$;

-- The rows that a change left otherwise than they were, but for those of users who were deleted since. A statement that
-- gave rows other keys is recorded as deletions and insertions.
create function touched_rows(undone_id bigint, lost text[]) returns touched_row[] language sql as $$
  with net as (
    select
      table_name, key, (array_agg(owner order by step desc))[1] as owner,
      case when (array_agg(before order by step))[1] is not null then merged(before order by step desc) end as before,
      case when (array_agg(after order by step desc))[1] is not null then merged(after order by step) end as after
    from (
      select *, row_number() over (order by id, before is null, position) as step
      from changed_rows
      where change_id = undone_id
    ) as steps
    group by table_name, key
  )
  select array(
    select cast(row(
      table_name, kind, net.owner, key, case when after is null then without_image(before, lost) else before end, after
    ) as touched_row)
    from net join history_tables() using (table_name)
    where
      before - text 'version' is distinct from after
      and (kind <> 'user' or exists (select from users where id = net.owner))
  )
$$;

-- What cannot be brought back, whatever else is.
create function missing_parts(undone_id bigint, lost text[]) returns text[] language sql stable as $$
  select array(
    select format('User %s was deleted', row.owner)
    from changed_rows as row join history_tables() using (table_name)
    where change_id = undone_id and kind = 'user' and not exists (select from users where id = row.owner)
    union
    select format('The image of %s %s is removed', kind, row.owner)
    from changed_rows as row join history_tables() using (table_name)
    where change_id = undone_id and before ->> 'image' = any(lost)
  )
$$;

-- The rows that are otherwise than the change left them, or, when it is taken back, otherwise than it found them. A
-- column that does not exist any more is not compared.
create function differing_rows(rows touched_row[], is_taken_back boolean) returns differing_row[] language sql as $$
  with due as (
    select
      table_name, kind, owner, key,
      case when is_taken_back then before - text 'version' else after end as expected
    from unnest(rows)
  ), present as (
    select table_name, found.key, found.current
    from
      (select table_name, jsonb_agg(key) as keys from due group by table_name) as listed
      cross join lateral current_rows(table_name, keys) as found
  )
  select array(
    select cast(row(table_name, kind, owner, key, columns, current) as differing_row)
    from
      due
      left join present using (table_name, key)
      cross join lateral (
        select array_agg(name)
        from jsonb_each(expected) as field (name, value)
        where current ? name and current -> name <> value
      ) as difference (columns)
    where (expected is null) <> (current is null) or columns is not null
  )
$$;

-- The rows that this transaction has deleted or updated behind a row of history, beside these.
create function other_rows(last_row bigint, rows touched_row[]) returns differing_row[] language sql as $$
  select array(
    select cast(row(row.table_name, kind, row.owner, row.key, null, before) as differing_row)
    from changed_rows as row join history_tables() using (table_name)
    where
      change_id = (select current_change())
      and id > last_row
      and before is not null
      and not exists (
        select from unnest(rows) as touched where (touched.table_name, touched.key) = (row.table_name, row.key)
      )
  )
$$;

-- A change as a result names it, with the present name of its user.
create function named_change(change_id bigint) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'change', changes.id, 'endpoint', endpoint, 'role', role, 'at', at, 'userId', caller_id, 'username', users.username
  )
  from changes left join users on users.id = caller_id
  where changes.id = change_id
$$;

-- The first hundred differing rows as a result has them: the record, which row of it that is, the values `now` of the
-- columns that differ, null if the row is gone, and the newest change of them. An undo is named only if there is no
-- other change, or if it took back this one or an earlier one; and so is a change that was taken back.
create function differences(undone_id bigint, rows differing_row[]) returns jsonb language sql stable as $$
  with listed as (
    select row.*, history_tables.noun, history_tables.owner as owner_column
    from unnest(rows) as row join history_tables() using (table_name)
    order by kind, row.owner, table_name, key
    limit 100
  ), later as (
    select
      table_name, row.key,
      coalesce(
        max(change_id) filter (where undone_by is null and coalesce(undone_id >= any(undoes), true)), max(change_id)
      ) as change_id
    from changed_rows as row join listed using (table_name, key) join changes on changes.id = change_id
    where
      change_id > undone_id
      -- A row that was deleted may be another record's by now.
      and owners && array(
        select unnest(array[owner, cast(current ->> owner_column as bigint)]) from listed
      )
      and transaction <> pg_current_xact_id()
      and (columns is null or before is null or after is null or after ?| (columns || owner_column))
    group by table_name, row.key
  )
  select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
    'record', concat_ws('/', kind, owner),
    'row', nullif(concat_ws(' ', noun, (
      select string_agg(key ->> cast(position - 1 as integer), ' ')
      from unnest(key_columns(table_name)) with ordinality as key_column (name, position)
      where noun is not null and name <> owner_column
    )), '')
  )) || jsonb_build_object(
    'now', case
      when current is not null then (
        select coalesce(jsonb_object_agg(
          name, case when length(value #>> '{}') > 300 then to_jsonb(left(value #>> '{}', 300) || '…') else value end
        ), '{}')
        from jsonb_each(current) as field (name, value)
        where name = any(columns)
      )
    end,
    'later', named_change(later.change_id)
  ) order by kind, owner, table_name, key), '[]')
  from listed left join later using (table_name, key)
$$;

-- The statements that take a change back, in their order: the newest history first. In a run of insertions parents come
-- first, and in one of deletions children do, since PostgreSQL records what a deletion cascades to behind it. Roles are
-- given to users first and taken last, or a user without one in between would get the default role. A record comes back
-- with the highest version that it ever had. The history is read before it is joined, and by its indexes: a plan that
-- is made for a few rows would compare all of many.
create function steps_back(undone_id bigint, rows touched_row[], lost text[]) returns table (
  operation text, table_name text, objects jsonb
) language sql set enable_seqscan = off as $$
  with undone as materialized (
    select * from changed_rows where change_id = undone_id and changed_rows.table_name <> 'user_roles'
  ), entries as (
    select row.table_name, row.key, without_image(row.before, lost) as before, row.after, id, position
    from undone as row join unnest(rows) as touched using (table_name, key)
    union all
    select row.table_name, key, before, after, case when before is null then 0 else 9e18 end, 0
    from unnest(rows) as row
    where row.table_name = 'user_roles'
  ), ordered as (
    select *, row_number() over (order by id desc, operation, position desc) as number
    from
      entries
      cross join lateral (
        select case when before is null then 'delete' when after is null then 'insert' else 'update' end
      ) as of_entry (operation)
  ), in_runs as (
    select *, min(number) over (partition by operation, run) as run_begin
    from (
      select *, number - row_number() over (partition by operation order by number) as run from ordered
    ) as numbered
  ), last_versions as (
    select row.table_name, key, max(cast(before -> 'version' as bigint)) as version
    from changed_rows as row
    where
      owners && array(select owner from unnest(rows) where before ? 'version')
      and after is null
      and before ? 'version'
    group by row.table_name, key
  )
  select
    operation, entry.table_name,
    jsonb_agg(case operation
      when 'delete' then key
      when 'insert' then before || case when version is null then '{}' else jsonb_build_object('version', version) end
      else jsonb_build_object('key', key, 'values', before)
    end order by number)
  from
    in_runs as entry
    left join last_versions using (table_name, key)
    join history_tables() with ordinality as listed using (table_name)
  group by operation, entry.table_name, ordinality, run_begin, id
  order by
    run_begin,
    case operation when 'insert' then ordinality when 'delete' then - ordinality end,
    id desc
$$;

create function take_back(undone_id bigint, rows touched_row[], lost text[]) returns void language plpgsql as $$
  #variable_conflict use_column
  declare
    operation text;
    table_name text;
    objects jsonb;
    ids bigint[];
  begin
    for operation, table_name, objects in select * from steps_back(undone_id, rows, lost) loop
      if operation = 'delete' then
        perform delete_rows(table_name, objects);
      elsif operation = 'insert' then
        perform insert_rows(table_name, objects);
      else
        perform update_rows(table_name, objects);
      end if;
    end loop;

    -- A trigger has given a record another slug, if its own was not free yet when it was inserted.
    for table_name, objects in
      select table_name, jsonb_agg(jsonb_build_object('key', key, 'values', old_values))
      from
        unnest(differing_rows(rows, true)) as row
        join unnest(rows) as touched using (table_name, key)
        cross join lateral (
          select jsonb_object_agg(name, before -> name) from unnest(columns) as name
        ) as due (old_values)
      where columns is not null
      group by table_name
    loop
      perform update_rows(table_name, objects);
    end loop;

    -- A record has a new version, also one that is there again, and whatever belongs to it.
    for table_name, ids in
      select listed.table_name, array_agg(distinct row.owner)
      from unnest(rows) as row join history_tables() as listed on listed.kind = row.kind and listed.noun is null
      group by listed.table_name
      having writable_columns(listed.table_name, '{version}') is not null
    loop
      execute format('update %I set version = version + 1 where id = any($1)', table_name) using ids;
    end loop;
  end
$$;

-- What the Administrator role may never lose: the permissions of this service that it has, and 0 if it has a user.
create function administrator_power() returns bigint[] language sql stable as $$
  select array(
    select permission_id
    from role_permissions join roles on roles.id = role_id join service_permissions() using (permission_id)
    where key = 'administrator'
    union
    select 0 from user_roles join roles on roles.id = role_id where key = 'administrator'
  )
$$;

-- What the database of today has no room for: rows of a table, or old values of a column, that it has no more.
create function lost_place(undone_id bigint) returns text language sql stable as $$
  select coalesce(
    (
      select format('The table %s does not exist any more', table_name)
      from history
      where change_id = undone_id and table_name not in (select table_name from history_tables())
      limit 1
    ),
    (
      select format('The column %s of %s does not exist any more', name, table_name)
      from changed_rows cross join lateral jsonb_each(before) as field (name, value)
      where change_id = undone_id and value <> 'null'
      group by table_name, name
      having
        not exists (
          select
          from pg_attribute
          where attrelid = to_regclass(table_name) and attname = name and not attisdropped
        )
      limit 1
    )
  )
$$;

-- Why a change cannot be taken back at all, or null.
create function undo_error(change changes) returns text language sql stable as $$
  select case
    when change.undone_by is not null then format('It was undone by change %s', change.undone_by)
    when change.endpoint = 'admin-users/delete' then 'A deleted user is deleted for good'
    when change.endpoint in ('admin-users/logout', 'sign-out') then 'Sessions that were ended stay ended'
    when not exists (select from history where change_id = change.id)
      then 'It changed nothing that can be undone, or what it did is forgotten'
    else coalesce(
      (
        select format('It touched %s rows, and a call can undo %s', to_char(sum(count), 'FM999,999,999'), '20,000')
        from (select jsonb_array_length(keys) as count from history where change_id = change.id) as counted
        having sum(count) > 20000
      ),
      lost_place(change.id),
      (
        select kept
        from history_tables() as listed join changed_rows using (table_name)
        where kept is not null and change_id = change.id and (before is null or after is null)
        limit 1
      )
    )
  end
$$;

-- Why these rows must not be taken back, or null. A deleted record comes back without an image whose objects are gone;
-- another image stays as it is. A user whose changes of a time are taken back gets no role by that, since the role may
-- have got permissions since.
create function rows_error(rows touched_row[], missing text[], lost text[], user_id bigint) returns text
  language sql stable as $$
  select coalesce(
    case when rows = '{}' then coalesce(missing[1], 'It left everything as it was') end,
    (
      select format('The old image of %s %s is removed', kind, owner)
      from unnest(rows)
      where after is not null and before ->> 'image' = any(lost)
      limit 1
    ),
    (
      select format('It would give user %s a role back', user_id)
      from unnest(rows)
      where table_name = 'user_roles' and owner = user_id and after is null
      limit 1
    )
  )
$$;

-- Why the database must not stay as it is when these rows are taken back, or null: what no constraint says.
create function result_error(rows touched_row[], old_power bigint[]) returns text language sql stable as $$
  select coalesce(
    (
      select format('The slug %s would be that of contributors %s and %s', slug, contributors.id, contributor_id)
      from contributors join former_slugs using (slug)
      where slug in (select before ->> 'slug' from unnest(rows) where before ? 'slug')
      limit 1
    ),
    case
      when not administrator_power() @> old_power
        then 'The Administrator role would lose its last user or a permission of this service'
    end,
    (
      select min(excess(kind, owners))
      from (
        select kind, array_agg(distinct owner) as owners from unnest(rows) where after is null group by kind
      ) as touched
    )
  )
$$;

-- Refuses to take a change back for this reason, unless it is null. It holds for these rows, if there are any.
create function refuse_undo(reason text, undone_id bigint default null, rows differing_row[] default null) returns void
  language plpgsql as $$
  begin
    if reason is not null and rows is distinct from '{}' then
      raise sqlstate 'REFUS' using message = cast(jsonb_build_object(
        'reason', reason, 'differing', differences(undone_id, rows)
      ) as text);
    end if;
  end
$$;

-- Takes a change back as a whole. Returns what is `missing` nevertheless, or the `reason` why it is refused, and the
-- rows that are `differing`. The history of an earlier undo in this transaction ends with `last_row`.
create function undo_change(change changes, user_id bigint, last_row bigint) returns jsonb language plpgsql as $$
  declare
    lost text[] = array(
      select image from unnest(former_images(array[change.id])) as image where not is_available(image)
    );
    missing text[] = missing_parts(change.id, lost);
    old_power bigint[] = administrator_power();
    rows touched_row[];
    reason text;
    refusing_table text;
    refusing_column text;
  begin
    perform refuse_undo(undo_error(change));
    rows = touched_rows(change.id, lost);
    perform refuse_undo('Its rows have changed since', change.id, differing_rows(rows, false));
    perform refuse_undo(rows_error(rows, missing, lost, user_id));

    set constraints all deferred;
    perform take_back(change.id, rows, lost);
    set constraints all immediate;
    perform refuse_undo('Rows that were added since would go, too', change.id, other_rows(last_row, rows));
    perform refuse_undo('Its rows would not be as before', change.id, differing_rows(rows, true));
    perform refuse_undo(result_error(rows, old_power));
    return jsonb_build_object('missing', missing);
  exception
    when sqlstate 'REFUS' then
      return cast(sqlerrm as jsonb);
    when integrity_constraint_violation then
      get stacked diagnostics reason = constraint_name, refusing_table = table_name, refusing_column = column_name;
      return jsonb_build_object(
        'reason', constraint_sentence(refusing_table, reason, refusing_column), 'differing', jsonb '[]'
      );
    when data_exception then
      return jsonb_build_object(
        'reason', 'A column cannot have its old value any more, since its type has changed', 'differing', jsonb '[]'
      );
  end
$$;
