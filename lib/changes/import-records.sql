-- Makes the rows of a list those that are wanted, for these owners; returns the owners whose list was not so, whatever
-- its order. Rows that are the same by the list's unique index, or by all values if it has none, keep their ids. Rows
-- whose key has their position are replaced where that differs.
create function replace_list(list_table text, owner_column text, owners bigint[], wanted jsonb) returns bigint[]
  language plpgsql as $$
  declare
    columns text[] = writable_columns(list_table, array(select jsonb_object_keys(wanted -> 0)));
    unique_columns text[] = (
      select array_agg(cast(attname as text))
      from pg_index join pg_attribute on attrelid = indrelid and attnum = any(indkey)
      where indrelid = cast(list_table as regclass) and indisunique and indnkeyatts > 1
    );
    is_ordered boolean = coalesce('position' = any(unique_columns), false);
    changed bigint[];
    removed jsonb;
    added jsonb;
    updated jsonb;
  begin
    if owners is null and (unique_columns is null or is_ordered) then
      perform insert_alike(list_table, columns, wanted) where wanted <> '[]';
      return '{}';
    end if;
    columns = coalesce(columns, array[owner_column]);
    execute format(
      $sql$
        with stored as (
          select
            %1$I as owner, jsonb_build_array(%2$s) as key, jsonb_build_array(%3$s) as name,
            jsonb_build_object(%4$s) as value, row_number() over (partition by %1$I, %3$s order by %2$s) as copy
          from %5$I
          where %1$I = any($1)
        ), wanted as (
          select
            %1$I as owner, jsonb_build_array(%3$s) as name, jsonb_build_object(%4$s) as value, object, place,
            row_number() over (partition by %1$I, %3$s order by place) as copy
          from
            jsonb_array_elements($2) with ordinality as element (object, place)
            cross join lateral jsonb_populate_record(cast(null as %5$I), object)
        ), compared as (
          select
            owner, key, object, place, stored.value as former, wanted.value as latter,
            bool_or(stored.value - 'position' is distinct from wanted.value - 'position')
              over (partition by owner) as is_changed
          from stored full join wanted using (owner, name, copy)
          where copy = 1 or not $3
        )
        select
          array_agg(distinct owner),
          coalesce(jsonb_agg(key) filter (where former is not null and (latter is null or $4)), '[]'),
          coalesce(
            jsonb_agg(object order by place) filter (where latter is not null and (former is null or $4)), '[]'
          ),
          coalesce(
            jsonb_agg(jsonb_build_object('key', key, 'values', latter))
            filter (where former is not null and latter is not null and not $4),
            '[]'
          )
        from compared
        where is_changed and former is distinct from latter
      $sql$,
      owner_column, column_list(key_columns(list_table)),
      column_list(
        case when is_ordered then array_remove(columns, 'position') else coalesce(unique_columns, columns) end
      ),
      (select string_agg(format('%1$L, %1$I', name), ', ') from unnest(columns) as name), list_table
    )
    into changed, removed, added, updated
    using owners, wanted, unique_columns is not null, is_ordered;
    perform delete_rows(list_table, removed) where removed <> '[]';
    perform update_rows(list_table, updated) where updated <> '[]';
    perform insert_alike(list_table, columns, added) where added <> '[]';
    return changed;
  end
$$;

-- Why a record may not have an image, or null.
create function image_refusal(image_key text) returns text language plpgsql stable as $$
  begin
    return case
      when exists (select from contributors where image = image_key)
        or exists (select from publishers where image = image_key)
        or exists (select from users where image = image_key)
        or exists (select from volumes where cover = image_key)
        then 'taken'
      when exists (select from images_to_remove where key = image_key) then 'removed'
    end;
  end
$$;

-- Why lines are refused for an image: another record has it, or an earlier line gets it, or it is about to be removed.
create function refused_images(lines import_line[], given import_row[]) returns jsonb language sql as $$
  with wanted as (
    select
      line, image, concat_ws('.', said.table_name, nullif(place, 0) - 1, name) as field,
      row_number() over (partition by image order by line) as number
    from
      unnest(given) as said
      join unnest(lines) as own on own.number = line
      cross join lateral (
        values ('image', said.object ->> 'image'), ('cover', said.object ->> 'cover')
      ) as picture (name, image)
    where
      image is not null
      and image is distinct from current ->> 'image'
      and not exists (select from volumes where series_id = own.id and cover = image)
  )
  select coalesce(jsonb_agg(refusal(line, field, reason)), '[]')
  from
    wanted
    cross join lateral (
      select coalesce(image_refusal(image), case when number > 1 then 'taken' end)
    ) as found (reason)
  where reason is not null
$$;

-- Why lines about records of a table are refused by themselves.
create function refused_lines(target text, lines import_line[]) returns jsonb language plpgsql as $$
  declare
    named text = case target when 'contributors' then 'first_name' else 'name' end;
  begin
    return (
      select coalesce(jsonb_agg(refusal(number, problem[1], problem[2])), '[]')
      from
        unnest(lines) as line
        cross join lateral (select coalesce(slug, said_slug(external_id))) as own (said)
        cross join lateral (
          select case
            when is_new and object ->> named is null then array[named, 'needed']
            when not is_new and slug <> current ->> 'slug' then array['slug', 'differs']
            when is_new and slug <> said_slug(external_id) then array['slug', 'unsaid']
            when is_new and said is not null and slug_exists(target, said) then array['slug', 'taken']
          end
        ) as found (problem)
      where problem is not null
    );
  end
$$;

-- Locks names and slugs that contributors get, as additions and edits of one do, and refuses names that others have. A
-- name is free if an earlier line takes it from its owner. If that line is refused in its turn, the unique index fails
-- the batch, and its halves follow.
create function refused_names(lines import_line[]) returns jsonb language plpgsql as $$
  declare
    numbers bigint[];
    ids bigint[];
    first_keys text[];
    last_keys text[];
  begin
    select array_agg(number), array_agg(id), array_agg(identity_key(first_name)), array_agg(identity_key(last_name))
    into numbers, ids, first_keys, last_keys
    from
      unnest(lines) as line
      cross join lateral jsonb_to_record(current || object) as latest (first_name text, last_name text)
    where
      is_new
      or first_name <> current ->> 'first_name'
      or last_name is distinct from current ->> 'last_name';
    perform lock_name(name)
    from (
      select distinct concat('contributor ', first_key, chr(10), last_key)
      from unnest(first_keys, last_keys) as named (first_key, last_key)
      union
      select 'contributors/' || regexp_replace(coalesce(slug, said_slug(external_id), made), '(-[0-9]+)+$', '')
      from unnest(lines)
      where is_new
      order by 1
    ) as locked (name);
    return (
      select coalesce(jsonb_agg(refusal(named.number, 'first_name', 'taken')), '[]')
      from
        unnest(numbers, ids, first_keys, last_keys) as named (number, id, first_key, last_key)
        join contributors as other on identity_key(first_name) = first_key and identity_key(last_name) = last_key
        left join unnest(numbers, ids) as earlier (number, id) on earlier.id = other.id
      where other.id <> named.id and (earlier.number is null or earlier.number > named.number)
    );
  end
$$;

-- Adds records, whose ids are known.
create function add_records(target text, lines import_line[], given import_row[]) returns void language plpgsql as $$
  begin
    -- The keys of aliases are as triggers keep them, which have nothing left to do.
    perform insert_rows(target, objects)
    from (
      select jsonb_agg(
        object || jsonb_build_object('id', id)
        || case
          when made is null then '{}'
          else jsonb_build_object(
            'external_id', external_id, 'slug', coalesce(slug, said_slug(external_id), made), 'alias_keys',
            coalesce(keys, '')
          )
        end
        order by number
      )
      from
        unnest(lines)
        left join (
          select
            line, string_agg(name_key(coalesce(object ->> 'name', object ->> 'title')), chr(10) order by place)
          from unnest(given)
          where table_name like '%\_aliases'
          group by line
        ) as alias (line, keys) on line = number
    ) as added (objects)
    where objects is not null;
    if exists (
      select
      from
        unnest(lines) as line
        join current_rows(target, (
          select jsonb_agg(jsonb_build_array(id))
          from unnest(lines)
          where coalesce(slug, said_slug(external_id)) is not null
        )) as present on key = jsonb_build_array(id)
      where present.current ->> 'slug' <> coalesce(slug, said_slug(external_id))
    ) then
      raise unique_violation using message = 'A slug was made from a name before it was given';
    end if;
  end
$$;

-- Adds and edits the records of a table. The caller has locked contributors that exist.
create function import_records_of(
  target text, lines import_line[], given import_row[], leads import_reference[], refused bigint[]
) returns import_result language plpgsql as $$
  declare
    owner_column text = (select kind || '_id' from history_tables() where table_name = target);
    refusals jsonb;
    list_table text;
    owners bigint[];
    wanted jsonb;
    touched bigint[] = '{}';
    edited jsonb;
  begin
    leads = array(select lead from unnest(leads) as lead join unnest(lines) on number = lead.line);
    lines = array(
      select cast(row(
        number, line.table_name, line.reference, external_id, slug, made, lists, object, record.id,
        source is not null, coalesce(present.current, '{}')
      ) as import_line)
      from
        unnest(lines) as line
        join unnest(leads) as record on record.line = number and column_name = 'id'
        left join current_rows(target, (
          select coalesce(jsonb_agg(jsonb_build_array(id)), '[]')
          from unnest(leads)
          where column_name = 'id' and source is null
        )) as present on key = jsonb_build_array(record.id)
      order by number
    );
    refusals = refused_lines(target, lines) || refused_references(lines, leads, refused);
    if target = 'contributors' then
      refusals = refusals || refused_names(lines);
    end if;
    refused = refused_numbers(refusals);
    lines = array(select line from unnest(lines) as line where number <> all(refused));
    refusals = refusals || refused_images(lines, given);
    refused = refused_numbers(refusals);
    lines = array(select line from unnest(lines) as line where number <> all(refused));
    perform add_records(target, array(select line from unnest(lines) as line where is_new), given);

    if exists (select from unnest(leads) where parent = 'tags' and id is null and line <> all(refused)) then
      insert into tags (name)
      select reference
      from (
        select distinct on (identity_key(reference)) *
        from unnest(leads)
        where parent = 'tags' and id is null and line <> all(refused)
        order by identity_key(reference), line, place
      ) as first
      order by line, place;
      given = led_rows(given, array(
        select cast(
          row(line, table_name, place, column_name, parent, reference, tag.id, null) as import_reference
        )
        from
          unnest(leads) as own
          join imported_ids('tags', array(select reference from unnest(leads) where parent = 'tags')) as tag
            using (reference)
        where parent = 'tags'
      ));
    end if;
    for list_table, owners, wanted in
      select name, edited_ids, coalesce(elements, '[]')
      from
        (
          select name, array_agg(id) filter (where not is_new) as edited_ids
          from unnest(lines) cross join lateral unnest(lists) as name
          group by name
        ) as listed
        left join (
          select
            said.table_name as name,
            jsonb_agg(said.object || jsonb_build_object(owner_column, id) order by line, place) as elements
          from unnest(given) as said join unnest(lines) on number = line
          where place > 0
          group by said.table_name
        ) as rows using (name)
    loop
      touched = touched || replace_list(list_table, owner_column, owners, wanted);
    end loop;

    edited = (
      select jsonb_agg(jsonb_build_object('key', jsonb_build_array(id), 'values', case
        when current ? 'version' then object || jsonb_build_object('version', cast(current -> 'version' as bigint) + 1)
        else object
      end))
      from unnest(lines)
      where not is_new and (id = any(touched) or not current @> object)
    );
    perform update_rows(target, edited) where edited is not null;
    return cast(row(
      (select count(*) from unnest(lines) where is_new), coalesce(jsonb_array_length(edited), 0), refusals
    ) as import_result);
  end
$$;

-- Adds relations between records. One that is there is not added again.
create function import_relations_of(
  target text, lines import_line[], given import_row[], leads import_reference[], refused bigint[]
) returns import_result language plpgsql as $$
  declare
    owner_column text;
    most bigint;
    refusals jsonb = refused_references(lines, leads, refused);
    added jsonb;
    full_refusals jsonb;
  begin
    select owner, listed.most into owner_column, most from history_tables() as listed where table_name = target;
    execute format(
      $sql$
        with said as (
          select min(line) as line, object, cast(object -> %2$L as bigint) as owner
          from unnest($1)
          where table_name = %1$L and line <> all($2)
          group by object
        ), stored as (
          select %2$I as owner, to_jsonb(current) - 'id' as object
          from %1$I as current
          where %2$I = any(array(select owner from said))
        ), judged as (
          select
            line, object,
            case
              when object -> %2$L = object -> 'relation_id' then 'same'
              when $3 < coalesce(count, 0) + row_number() over (
                partition by owner, object -> %2$L = object -> 'relation_id' order by line
              ) then 'full'
            end as reason
          from
            said
            left join (select owner, count(*) from stored group by owner) as present using (owner)
          where not exists (select from stored where stored.object = said.object)
        )
        select
          coalesce(jsonb_agg(object order by line) filter (where reason is null), '[]'),
          coalesce(
            jsonb_agg(refusal(line, concat('%1$s.', case reason when 'same' then 'relation_id' else %2$L end), reason))
            filter (where reason is not null),
            '[]'
          )
        from judged
      $sql$,
      target, owner_column
    )
    into added, full_refusals
    using given, refused_numbers(refusals), most;
    perform insert_rows(target, added) where added <> '[]';
    if target = 'contributor_relations' then
      update contributors
      set version = version + 1
      where id = any(array(select cast(object -> owner_column as bigint) from jsonb_array_elements(added) as object));
    end if;
    return cast(row(jsonb_array_length(added), 0, refusals || full_refusals) as import_result);
  end
$$;

-- Imports lines as if they came one by one, which they do where they depend on each other: when one gives up a name
-- that another one takes, or two want the same one. Records come before what leads to them.
create function import_lines(lines import_line[], given import_row[]) returns import_result language plpgsql as $$
  declare
    leads import_reference[];
    led import_row[];
    target text;
    own import_line[];
    result import_result;
    total import_result = cast(row(0, 0, '[]') as import_result);
    half integer = (cardinality(lines) + 1) / 2;
  begin
    leads = import_references(lines, given);
    perform
    from contributors
    where id = any(array(select id from unnest(leads) where parent = 'contributors' and source is null))
    order by id
    for no key update;
    led = led_rows(given, leads);
    foreach target in array array[
      'clients', 'publishers', 'contributors', 'publisher_relations', 'contributor_relations', 'series'
    ] loop
      own = array(select line from unnest(lines) as line where table_name = target);
      continue when own = '{}';
      if target like '%\_relations' then
        result = import_relations_of(target, own, led, leads, refused_numbers(total.refusals));
      else
        result = import_records_of(target, own, led, leads, refused_numbers(total.refusals));
      end if;
      total = cast(row(
        total.added + result.added, total.changed + result.changed, total.refusals || result.refusals
      ) as import_result);
    end loop;
    return total;
  exception when unique_violation then
    if half = cardinality(lines) then
      raise;
    end if;
    total = import_lines(
      trim_array(lines, cardinality(lines) - half),
      array(select said from unnest(given) as said where line <= lines[half].number)
    );
    result = import_lines(
      lines[half + 1:], array(select said from unnest(given) as said where line > lines[half].number)
    );
    return cast(row(
      total.added + result.added, total.changed + result.changed, total.refusals || result.refusals
    ) as import_result);
  end
$$;

-- Imports some lines of a file: those from `position` to `end`. One import runs at a time, so nothing waits for another
-- one behind the lock. The input has the lines that were read, and the `refusals` of those that could not be. A refused
-- line changes nothing; the others are done. The row of the import moves on in the same transaction, so another run
-- begins behind the last line that was done. 409 means that it is somewhere else. Plans are kept while tables grow from
-- nothing, so records are looked up by indexes, however few there are.
create function import_records(request request) returns outcome
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  as $$
  declare
    input jsonb = request.input;
    import imports;
    items import_line[];
    result import_result;
    lines bigint = cast(input ->> 'last' as bigint) - cast(input ->> 'first' as bigint) + 1;
    refused jsonb;
    all_refusals jsonb;
    outcome outcome;
  begin
    perform lock_name('import');
    select * into import from imports where source = input ->> 'source';
    if import.key = request.key then
      return answered(import.answer);
    end if;
    if import.is_done and input ->> 'position' = '0' then
      import = null;
    end if;
    if import.is_done or coalesce(import.position, 0) <> cast(input ->> 'position' as bigint) then
      return refused(409);
    end if;

    items = array(select line from jsonb_populate_recordset(cast(null as import_line), input -> 'lines') as line);
    result = import_lines(items, array(
      select cast(row(number, table_name, 0, object) as import_row) from unnest(items)
      union all
      select said from jsonb_populate_recordset(cast(null as import_row), input -> 'rows') as said
    ));
    -- A line is refused once, for what comes first.
    refused = (
      select coalesce(jsonb_agg(refusal order by number), '[]')
      from (
        select distinct on (cast(refusal -> 'line' as bigint)) refusal, cast(refusal -> 'line' as bigint) as number
        from jsonb_array_elements(result.refusals) with ordinality as listed (refusal, place)
        order by cast(refusal -> 'line' as bigint), place
      ) as first
    );
    all_refusals = (
      select coalesce(jsonb_agg(refusal order by cast(refusal -> 'line' as bigint)), '[]')
      from jsonb_array_elements(refused || (input -> 'refusals')) as refusal
    );
    outcome = operated(request, jsonb_build_object(
      'first', input -> 'first',
      'last', input -> 'last',
      'added', result.added,
      'changed', result.changed,
      'unchanged', lines - result.added - result.changed - jsonb_array_length(all_refusals),
      'refusals', refused
    ));
    insert into imports (
      source, position, lines, added, changed, unchanged, refused, refusals, is_done, key, answer
    )
    values (
      input ->> 'source', cast(input ->> 'end' as bigint), cast(input ->> 'last' as bigint),
      coalesce(import.added, 0) + result.added,
      coalesce(import.changed, 0) + result.changed,
      coalesce(import.unchanged, 0) + cast(outcome.answer ->> 'unchanged' as bigint),
      coalesce(import.refused, 0) + jsonb_array_length(all_refusals),
      jsonb_path_query_array(coalesce(import.refusals, '[]') || all_refusals, '$[0 to 99]'),
      cast(input ->> 'isDone' as boolean), request.key, outcome.answer
    )
    on conflict (source) do update
    set
      position = excluded.position,
      lines = excluded.lines,
      added = excluded.added,
      changed = excluded.changed,
      unchanged = excluded.unchanged,
      refused = excluded.refused,
      refusals = excluded.refusals,
      is_done = excluded.is_done,
      id = case when imports.is_done then nextval(pg_get_serial_sequence('imports', 'id')) else imports.id end,
      begun_at = case when imports.is_done then now() else imports.begun_at end,
      moved_at = now(),
      key = excluded.key,
      answer = excluded.answer
    returning id into import.id;
    update changes set import_id = import.id where id = cast(outcome.answer ->> 'change' as bigint);
    return outcome;
  end
$$;
