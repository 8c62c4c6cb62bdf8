-- Takes a change back by its rows: what it inserted is deleted, what it deleted is inserted with its ids, and what it
-- updated gets its former values.

create aggregate merged(jsonb) (sfunc = jsonb_concat, stype = jsonb, initcond = '{}');

-- What a change did to a row, in whatever statements: its values before, null if it inserted the row, and after, null
-- if it deleted it; and the row as it is now, null if it is gone.
create type undo_row as (
  table_name text, kind text, owner_column text, owner bigint, key jsonb, before jsonb, after jsonb, current jsonb
);

-- What keeps a row from being taken back: its place in a record, the value `now`, the reason if that does not say it,
-- and the newest change that touched it. The effect is what an undo with `force` does: it `overrides` the conflict,
-- `leaves` the row or the column as it is, or `refuses`. What it `loses` is skipped without `force`, too.
create type undo_conflict as (
  table_name text, key jsonb, record text, field text, now jsonb, reason text, later bigint, effect text
);

-- The rows that a change left otherwise than they were, each once, whatever its statements did in between. A row that
-- was deleted and inserted again by its key is an updated one: the history has the key of the one only.
create function undo_rows(undone_id bigint) returns undo_row[] language sql as $$
  select array(
    with touched as (
      select
        table_name, key, (array_agg(owner order by id desc))[1] as owner,
        case when (array_agg(before order by id))[1] is not null then merged(before order by id desc) end as before,
        case when (array_agg(after order by id desc))[1] is not null then merged(after order by id) end as after,
        bool_or(before is null) and bool_or(after is null) as is_again
      from changed_rows
      where change_id = undone_id
      group by table_name, key
    ), net as (
      select
        table_name, key, touched.owner,
        case when remains then before - key_columns(table_name) - text 'version' else before end as before,
        case
          when remains then (after || jsonb_build_object(listed.owner, touched.owner)) - key_columns(table_name)
          else after
        end as after
      from
        touched
        join history_tables() as listed using (table_name)
        cross join lateral (select is_again and before is not null and after is not null) as row (remains)
    ), present as (
      select table_name, found.key, found.current
      from
        (select table_name, jsonb_agg(key) as keys from net group by table_name) as listed
        cross join lateral current_rows(table_name, keys) as found
    )
    select cast(row(
      table_name, listed.kind, listed.owner, net.owner, key, net.before,
      case when net.before is null then net.after || jsonb_build_object(listed.owner, net.owner) else net.after end,
      present.current
    ) as undo_row)
    from net left join present using (table_name, key) join history_tables() as listed using (table_name)
    where net.before is distinct from net.after
  )
$$;

-- The newest change after this one that touched a row, or one of these columns of it; null if none is known. Changes
-- that were taken back, or only take back a later change, count if there is no other. The row may come from another
-- record.
create function later_change(undone_id bigint, touched undo_row, columns text[]) returns bigint
  language sql stable as $$
  select coalesce(
    max(change_id) filter (
      where
        undone_by is null
        and (
          undoes is null
          or exists (
            select
            from changed_rows as taken_back
            where
              taken_back.change_id = any(undoes)
              and taken_back.change_id <= undone_id
              and (taken_back.table_name, taken_back.key) = (touched.table_name, touched.key)
          )
        )
    ),
    max(change_id)
  )
  from changed_rows as row join changes on changes.id = change_id
  where
    change_id > undone_id
    and owners @> array[touched.owner]
    and table_name = touched.table_name
    and row.key = touched.key
    and (columns is null or before is null or after is null or after ?| (columns || touched.owner_column))
    and transaction <> pg_current_xact_id()
$$;

-- The place of a row in its record, as `aliases/12`, or of a column of the record itself.
create function place_of(touched undo_row, column_name text) returns text language sql stable as $$
  select case
    when touched.owner_column = 'id' then coalesce(column_name, '*')
    else concat_ws('/', regexp_replace(touched.table_name, '^' || touched.kind || '_', ''), (
      select string_agg(touched.key ->> cast(place - 1 as integer), '/')
      from unnest(key_columns(touched.table_name)) with ordinality as key (name, place)
      where name <> touched.owner_column
    ))
  end
$$;

-- A row of another change.
create function other_row(table_name text, owner bigint, key jsonb, current jsonb default null) returns undo_row
  language sql stable as $$
  select cast(row(listed.table_name, kind, listed.owner, other_row.owner, key, null, null, current) as undo_row)
  from history_tables() as listed
  where listed.table_name = other_row.table_name
$$;

-- Rows that would get unique values of other rows: by each unique index, whose expressions are compared one by one, so
-- that it finds the other row. Slugs and former slugs of contributors differ, too.
create function taken_values(rows undo_row[]) returns table (touched undo_row, columns text[], other undo_row)
  language plpgsql as $$
  declare
    statement text;
    columns_of_index text[];
  begin
    return query
    select row, array['slug'], other_row(taken.table_name, taken.owner, taken.key)
    from
      unnest(rows) as row
      join (
        select 'contributors', slug, 'former_slugs', contributor_id, jsonb_build_array(slug) from former_slugs
        union all
        select 'former_slugs', slug, 'contributors', id, jsonb_build_array(id) from contributors
      ) as taken (taking_table, slug, table_name, owner, key)
        on taking_table = row.table_name and slug = row.before ->> 'slug';
    for statement, columns_of_index in
      select
        format(
          $sql$
            select touched, $2, other_row(%2$L, owner, key)
            from
              (
                select touched, %1$s
                from
                  (select row as touched from unnest($1) as row where table_name = %2$L and before is not null) as own
                  cross join lateral jsonb_populate_record(
                    cast(null as %2$I), coalesce((touched).current, '{}') || (touched).before
                  )
                where %3$s
              ) as restored
              join (select jsonb_build_array(%4$s) as key, %6$I as owner, %1$s from %2$I where %3$s) as other
                using (%5$s)
            where other.key <> (touched).key
          $sql$,
          expressions, listed.table_name, coalesce(pg_get_expr(indpred, indrelid), 'true'),
          column_list(key_columns(listed.table_name)), names, owner
        ),
        array(
          select cast(attname as text)
          from pg_attribute
          where
            attrelid = indrelid
            and (attnum = any(indkey) or attnum in (
              select refobjsubid from pg_depend where objid = indexrelid and refobjid = indrelid and refobjsubid > 0
            ))
          order by attnum
        )
      from
        history_tables() as listed
        join pg_index on indrelid = cast(listed.table_name as regclass) and indisunique
        cross join lateral (
          select
            string_agg(format('%s as value_%s', pg_get_indexdef(indexrelid, place, false), place), ', '),
            string_agg('value_' || place, ', ')
          from generate_series(1, cast(indnkeyatts as integer)) as place
        ) as index_columns (expressions, names)
      where listed.table_name in (select table_name from unnest(rows) where before is not null)
    loop
      return query execute statement using rows, columns_of_index;
    end loop;
  end
$$;

-- The rows whose column leads to one of these records.
create function rows_leading_to(ids bigint[], table_name text, column_name text) returns setof undo_row
  language plpgsql as $$
  begin
    return query execute format(
      $sql$
        select row.*
        from %1$I as current cross join lateral other_row(%1$L, %2$I, jsonb_build_array(%3$s), to_jsonb(current)) as row
        where %4$I = any($1)
      $sql$,
      table_name, (select owner from history_tables() as listed where listed.table_name = rows_leading_to.table_name),
      column_list(key_columns(table_name), 'current.'), column_name
    )
    using ids;
  end
$$;

create function undo_conflicts(change_id bigint, rows undo_row[]) returns undo_conflict[] language sql as $$
  with leads as (
    select
      row, column_name = row.owner_column as is_owner, column_name, parent,
      cast(row(parent, parent_kind, 'id', parent_id, jsonb_build_array(parent_id), null, null, null) as undo_row)
        as other
    from
      unnest(rows) as row
      join foreign_keys() as foreign_key using (table_name)
      cross join lateral (
        select coalesce(
          cast(row.before ->> column_name as bigint), case when column_name = row.owner_column then row.owner end
        )
      ) as lead (parent_id)
    where parent_id is not null
  ), missing as (
    -- Rows that would lead to a record that is gone, their own included.
    select
      row as touched, case when is_owner then other else row end as shown, other,
      case when not is_owner then array[column_name] end as columns,
      format('%s %s was deleted', initcap((other).kind), (other).owner) as reason,
      case
        when is_owner and (other).kind = 'user' then 'loses row'
        when (row).owner_column = 'id' then 'refuses'
        else 'leaves row'
      end as effect
    from leads
    where
      (parent, (other).key) not in (
        select parent, found.key
        from
          (select parent, jsonb_agg(distinct (other).key) as keys from leads group by parent) as listed
          cross join lateral current_rows(parent, keys) as found
        union all
        select table_name, key from unnest(rows) where after is null
      )
  ), lost as materialized (
    select image from unnest(former_images(array[change_id])) as image where not is_available(image)
  ), remaining as (
    -- Rows that have other values than the change left them with, are gone, or are there again; and images.
    select row as touched, row as shown, row as other, columns, reason, effect
    from
      unnest(rows) as row
      cross join lateral (
        select array[name], null, 'overrides'
        from jsonb_each(row.after) as field (name, value)
        where
          row.current is not null
          and row.current -> name is distinct from value
          and row.current -> name is distinct from row.before -> name
        union all
        select
          null, case when row.owner_column = 'id' then format('%s %s was deleted', initcap(row.kind), row.owner) end,
          case when row.kind = 'user' and row.owner_column = 'id' then 'loses row' else 'leaves row' end
        where row.after is not null and row.current is null
        union all
        select
          null, case when row.owner_column = 'id' then format('There is a %s %s again', row.kind, row.owner) end,
          case
            when row.owner_column = 'id' then 'refuses'
            when row.current -> row.owner_column is distinct from row.before -> row.owner_column then 'leaves row'
            else 'overrides'
          end
        where row.after is null and row.current is not null and not row.current @> (row.before - text 'version')
        union all
        select array['image'], 'Its image is removed', 'loses column'
        where row.before ->> 'image' in (select image from lost)
      ) as found (columns, reason, effect)
    union all
    -- Rows whose unique values another row has now. Identifiers are skipped; names are not, since people choose them.
    select
      touched, touched, other, columns,
      format('%s %s has the same %s now', initcap((touched).kind), (other).owner, array_to_string(columns, ', ')),
      case
        when (touched).owner_column <> 'id' then 'leaves row'
        when columns[1] in ('slug', 'external_id') then 'leaves column'
        else 'refuses'
      end
    from taken_values(rows)
    where ((other).table_name, (other).key) not in (select table_name, key from unnest(rows))
    union all
    -- Rows that were added since, and lead to rows that would be deleted.
    select
      touched, touched, touched, null,
      case when not is_cascading then format('%s %s needs it', initcap((touched).kind), (touched).owner) end,
      case when is_cascading then 'overrides' else 'refuses' end
    from
      foreign_keys() as foreign_key
      join (
        select table_name as parent, array_agg(owner) as ids
        from unnest(rows)
        where before is null and current is not null
        group by table_name
      ) as deleted using (parent)
      cross join lateral rows_leading_to(ids, foreign_key.table_name, column_name) as touched
    where
      not exists (
        select
        from unnest(rows) as row
        where (row.table_name, row.key) = (touched.table_name, touched.key) and (before is null or before ? column_name)
      )
  )
  select array(
    select cast(row(
      (touched).table_name, (touched).key, concat_ws('/', (shown).kind, (shown).owner), place_of(shown, columns[1]),
      case when (touched).owner_column = 'id' then (touched).current -> columns[1] else (touched).current end,
      reason, later_change(change_id, other, columns), effect
    ) as undo_conflict)
    from (
      select * from missing
      union all
      select *
      from remaining
      where ((touched).table_name, (touched).key) not in (select (touched).table_name, (touched).key from missing)
    ) as found
  )
$$;

-- With the highest version that a record had, also if it was deleted several times.
create function with_last_version(touched undo_row) returns jsonb language sql stable as $$
  select case
    when touched.before -> 'version' is null then touched.before
    else touched.before || jsonb_build_object('version', (
      select max(cast(before ->> 'version' as bigint))
      from changed_rows
      where owners @> array[touched.owner] and table_name = touched.table_name and key = touched.key and after is null
    ))
  end
$$;

-- In which turn rows are updated, so that a unique value is free before another row gets it. Of rows that exchange
-- values in a circle this text column is `vacated` first.
create function turns_of(rows undo_row[]) returns table (table_name text, key jsonb, turn bigint, vacated text)
  language sql as $$
  with recursive waiting as materialized (
    select (touched).table_name, (touched).key, (other).key as holder, columns
    from taken_values(rows)
    where
      -- One row waits for none, which saves the search.
      cardinality(rows) > 1
      and ((other).table_name, (other).key) in (select table_name, key from unnest(rows) where before is not null)
  ), queue as (
    select table_name, key, holder, columns, 1 as turn from waiting
    union all
    select queue.table_name, queue.key, waiting.holder, queue.columns, turn + 1
    from queue join waiting on (waiting.table_name, waiting.key) = (queue.table_name, queue.holder)
    where turn < 1000
  ) cycle holder set is_in_circle using path
  select
    table_name, key, max(turn),
    min((
      select cast(attname as text)
      from pg_attribute
      where
        attrelid = cast(table_name as regclass) and attname = any(columns) and atttypid = cast('text' as regtype)
      order by attnum
      limit 1
    )) filter (where is_in_circle)
  from queue
  group by table_name, key
$$;

-- Takes rows back: values become free before other rows get them, and rows come before what leads to them. A row that
-- leads to other records again is deleted and inserted, if records are deleted or inserted: it would go with the one,
-- or come before the other. Roles are taken from users last, or a user without one in between would get the default
-- role.
create function take_back(rows undo_row[]) returns void language plpgsql as $$
  #variable_conflict use_column
  declare
    operation text;
    table_name text;
    keys jsonb;
    objects jsonb;
    ids bigint[];
    moves_records boolean = exists (
      select from unnest(rows) where owner_column = 'id' and (before is null or current is null)
    );
  begin
    for operation, table_name, keys, objects in
      select
        operation, table_name, jsonb_agg(key),
        jsonb_agg(case operation
          when 'insert' then coalesce(current, '{}') || with_last_version(row)
          when 'vacate' then jsonb_build_object('key', key, 'values', jsonb_build_object(vacated, gen_random_uuid()))
          else jsonb_build_object('key', key, 'values', before - text 'version')
        end)
      from
        unnest(rows) as row
        join (
          select
            table_name, ordinality as place,
            array(
              select column_name from foreign_keys() as foreign_key where foreign_key.table_name = listed.table_name
            ) as links
          from history_tables() with ordinality as listed
          offset 0
        ) as listed using (table_name)
        left join turns_of(rows) as own using (table_name, key)
        cross join lateral unnest(case
          when before is null then array['delete']
          when current is null then array['insert']
          when moves_records and owner_column <> 'id' and before ?| links then array['delete', 'insert']
          when vacated is not null then array['vacate', 'update']
          else array['update']
        end) as operation
      group by operation, table_name, place, case operation when 'update' then turn end
      order by
        case
          when operation = 'vacate' then 2
          when operation = 'update' then 3
          when operation = 'insert' then 4
          when table_name = 'user_roles' then 5
          else 1
        end,
        case operation when 'delete' then - place else place end,
        case operation when 'update' then turn end nulls first
    loop
      if operation = 'delete' then
        perform delete_rows(table_name, keys);
      elsif operation = 'insert' then
        perform insert_rows(table_name, objects);
      else
        perform update_rows(table_name, objects);
      end if;
    end loop;

    -- A record has a new version, also one that is there again, and whatever belongs to it.
    for table_name, ids in
      select own.table_name, array_agg(distinct row.owner)
      from unnest(rows) as row join history_tables() as own on own.kind = row.kind and own.owner = 'id'
      group by own.table_name
      having writable_columns(own.table_name, '{version}') is not null
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

-- What the database of today has no place for: rows of a table, or former values of a column, that it has no more.
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
        select format('It touched %s rows, and a call can undo %s', to_char(sum(count), 'FM999,999,999'), '60,000')
        from (select jsonb_array_length(keys) as count from history where change_id = change.id) as counted
        having sum(count) > 60000
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

-- A change as a conflict names it, with the present name of its user.
create function named_change(change_id bigint) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'change', changes.id, 'endpoint', endpoint, 'role', role, 'at', at, 'userId', caller_id, 'username', users.username
  )
  from changes left join users on users.id = caller_id
  where changes.id = change_id
$$;

-- The first hundred conflicts with such effects as a result has them, once for each place, and the beginning of a long
-- value.
create function conflicts_in_result(change_id bigint, conflicts undo_conflict[], effects text[]) returns jsonb
  language sql stable as $$
  select coalesce(jsonb_agg(conflict), '[]')
  from (
    select distinct on (record, field)
      jsonb_strip_nulls(jsonb_build_object(
        'change', change_id, 'record', record, 'field', field, 'reason', reason
      )) || jsonb_build_object(
        'now', case when length(now #>> '{}') > 300 then to_jsonb(left(now #>> '{}', 300) || '…') else now end,
        'later', named_change(later)
      ) as conflict
    from unnest(conflicts)
    where effect like any(effects)
    order by record, field, later desc nulls last
    limit 100
  ) as listed
$$;

-- Takes a change back. Returns what was `overridden` and `skipped`, or the `conflicts`, or the `reason` why it is
-- refused. A user whose changes of a time are taken back gets no role by that: it may have got permissions since.
create function undo_change(change changes, is_forced boolean, user_id bigint) returns jsonb language plpgsql as $$
  declare
    reason text = undo_error(change);
    refusing_table text;
    refusing_column text;
    former_power bigint[] = administrator_power();
    rows undo_row[];
    conflicts undo_conflict[];
  begin
    if reason is not null then
      return jsonb_build_object('reason', reason);
    end if;
    rows = undo_rows(change.id);
    conflicts = undo_conflicts(change.id, rows);
    rows = array(
      select cast(row(table_name, kind, owner_column, owner, key, remaining.before, after, current) as undo_row)
      from
        unnest(rows) as row
        cross join lateral (
          select row.before - array(
            select field
            from unnest(conflicts) as conflict
            where
              effect like '% column'
              and (conflict.table_name, conflict.key) = (row.table_name, row.key)
              and (field <> 'slug' or current is not null)
          )
        ) as remaining (before)
      where
        (table_name, key) not in (select table_name, key from unnest(conflicts) where effect like '% row')
        and (current is null or remaining.before is null or current || (remaining.before - text 'version') <> current)
    );

    select concat(
      coalesce(conflict.reason, 'It is gone'), ', by change ' || later || ', undo that first'
    ) into reason
    from unnest(conflicts) as conflict
    where
      effect = 'refuses'
      or rows = '{}' and effect <> 'overrides' and (is_forced or field = '*' or effect like 'loses %')
    order by later desc nulls last
    limit 1;
    if found then
      return jsonb_build_object('reason', reason);
    end if;
    if not is_forced and exists (select from unnest(conflicts) where effect not like 'loses %') then
      return jsonb_build_object('conflicts', conflicts_in_result(change.id, conflicts, '{overrides, leaves %}'));
    end if;
    if rows = '{}' then
      return jsonb_build_object('reason', 'It is already as it was before');
    end if;
    if exists (
      select
      from unnest(rows) as row
      where table_name = 'user_roles' and row.owner = user_id and before is not null and current is null
    ) then
      return jsonb_build_object('reason', format('It would give user %s a role back', user_id));
    end if;

    set constraints all deferred;
    perform take_back(rows);
    set constraints all immediate;
    reason = case
      when not administrator_power() @> former_power
        then 'The Administrator role would lose its last user or a permission of this service'
      else (
        select min(excess(kind, owners))
        from (
          select kind, array_agg(distinct owner) as owners from unnest(rows) where current is null group by kind
        ) as touched
      )
    end;
    if reason is not null then
      raise sqlstate 'REFUS' using message = reason;
    end if;
    return jsonb_build_object(
      'overridden', conflicts_in_result(change.id, conflicts, '{overrides}'),
      'skipped', conflicts_in_result(change.id, conflicts, '{leaves %, loses %}')
    );
  exception
    when sqlstate 'REFUS' then
      return jsonb_build_object('reason', sqlerrm);
    when integrity_constraint_violation then
      get stacked diagnostics reason = constraint_name, refusing_table = table_name, refusing_column = column_name;
      return jsonb_build_object('reason', constraint_sentence(refusing_table, reason, refusing_column));
    when data_exception then
      return jsonb_build_object('reason', 'A column cannot have its former value any more, since its type has changed');
  end
$$;
