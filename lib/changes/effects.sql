-- What a change did to each record, in the language of effects (README.md), whoever made it: an operator's row has its
-- effects, and that of a request is read as one. A change without any cannot be taken back.

-- The elements that a request added, with their ids, which come in its order.
create function added_elements(added jsonb, requested jsonb) returns jsonb language sql immutable as $$
  select coalesce(
    jsonb_agg(
      jsonb_build_object('id', id)
      || case jsonb_typeof(element) when 'object' then element else jsonb_build_object('name', element) end
      order by place
    ),
    '[]'
  )
  from
    jsonb_array_elements(added) with ordinality as row (id, place)
    join jsonb_array_elements(requested) with ordinality as request (element, place) using (place)
$$;

-- The new values of the fields that a request modified. Of an element that it names twice they are not known.
create function modified_elements(former jsonb, requested jsonb) returns jsonb language sql immutable as $$
  select coalesce(jsonb_agg(latest), '[]')
  from (
    select (
      select jsonb_object_agg(key, value) from jsonb_each((array_agg(request))[1]) where element -> key is not null
    ) as latest
    from jsonb_array_elements(former) as element join jsonb_array_elements(requested) as request
      on request -> 'id' = element -> 'id'
    group by element
    having count(*) = 1
  ) as modified
$$;

-- The new values of what an edit changed, from its request. Plain ids say all themselves.
create function edited_values(input jsonb, before jsonb) returns jsonb language sql immutable as $$
  select coalesce(jsonb_object_agg(key, value), '{}')
  from (
    select
      key,
      case
        when key = 'links' then (
          select jsonb_agg(link order by place)
          from (
            select link, min(place) as place
            from jsonb_array_elements(input -> 'links') with ordinality as requested (link, place)
            group by link
          ) as link
        )
        when key in ('added_aliases', 'added_descriptions', 'added_relations')
          then added_elements(former, input -> key)
        when starts_with(key, 'modified_') then modified_elements(former, input -> key)
        else input -> key
      end
    from jsonb_each(before) as part (key, former)
    where key not in ('added_roles', 'added_permissions') and not starts_with(key, 'removed_')
  ) as field (key, value)
  where value is not null
$$;

-- What a record is called, by itself or by the input that adds it.
create function record_name(state jsonb) returns text language sql immutable as $$
  select nullif(
    coalesce(state ->> 'name', state ->> 'username', concat_ws(' ', state ->> 'first_name', state ->> 'last_name')), ''
  )
$$;

create function effects_of(change changes) returns jsonb language plpgsql stable as $$
  declare
    input jsonb = cast(change.asked as jsonb);
    before jsonb = cast(change.before as jsonb);
    verb text = split_part(change.endpoint, '/', 2);
    kind text = case split_part(change.endpoint, '/', 1)
      when 'admin-contributors' then 'contributor'
      when 'admin-permissions' then 'permission'
      when 'admin-roles' then 'role'
      when 'admin-users' then 'user'
    end;
    effect jsonb = jsonb_build_object('record', kind, 'id', change.record_id);
  begin
    if kind is null then
      return case when jsonb_typeof(before) = 'array' then before else '[]' end;
    end if;
    if verb = 'delete' then
      return jsonb_build_array(effect || jsonb_strip_nulls(jsonb_build_object(
        'name', record_name(coalesce(before -> kind, before)), 'did', 'delete', 'before', before
      )));
    end if;
    -- The owner leaves an empty object of what the ledger must not keep (infra/README.md, "Take-downs").
    if input is null or input = '{}' then
      return '[]';
    end if;
    return case verb
      when 'add' then jsonb_build_array(effect || jsonb_build_object(
        'name', record_name(input),
        'did', 'add',
        'after', case kind
          when 'contributor' then jsonb_build_object(
            'first_name', input -> 'first_name', 'last_name', input -> 'last_name', 'client_id', input -> 'client',
            'gender', null, 'type', null, 'public', false, 'image', null
          )
          else jsonb_build_object(
            kind, jsonb_build_object('name', input -> 'name', 'description', input -> 'description')
          )
        end
      ))
      when 'edit' then jsonb_build_array(effect || jsonb_build_object(
        'did', 'edit', 'before', before, 'after', edited_values(input, before)
      ))
      when 'logout' then '[]'
      -- Updates and removals of images.
      else jsonb_build_array(effect || jsonb_build_object(
        'did', 'edit', 'before', before, 'after', jsonb_build_object('image', input -> 'key')
      ))
    end;
  end
$$;

-- What an effect touched, as a record and its field, `aliases/12` for an element, or `*` for all of the record.
create function footprint(effect jsonb) returns table (record text, field text) language sql immutable as $$
  with itself as (
    select
      concat_ws('/', effect ->> 'record', effect ->> 'id') as key,
      coalesce(effect -> 'before', effect -> 'after') as whole
  )
  select key, '*' from itself where effect ->> 'did' <> 'edit'
  union all
  select
    itself.key,
    case
      when part.key ~ '^(added|removed|modified)_'
      then regexp_replace(part.key, '^[a-z]+_', '') || '/' || coalesce(element ->> 'id', element #>> '{}')
      else part.key
    end
  from
    itself
    cross join lateral jsonb_each(whole) as part
    left join lateral jsonb_array_elements(
      case when part.key ~ '^(added|removed|modified)_' then part.value end
    ) as element on true
  where effect ->> 'did' = 'edit' and (element is not null or part.key !~ '^(added|removed|modified)_')
  union all
  select concat('contributor/', relation ->> 'contributor_id'), concat('relations/', relation ->> 'id')
  from itself cross join lateral jsonb_array_elements(whole -> 'incoming_relations') as relation
  where effect ->> 'record' = 'contributor'
  union all
  select concat('user/', member), concat('roles/', effect ->> 'id')
  from itself cross join lateral jsonb_array_elements(whole -> 'users') as member
  where effect ->> 'record' = 'role'
  union all
  select concat('user/', member), concat('roles/', whole ->> 'default_role')
  from itself cross join lateral jsonb_array_elements(whole -> 'defaulted') as member
  where effect ->> 'record' = 'role'
  union all
  select concat('role/', role), concat('permissions/', effect ->> 'id')
  from itself cross join lateral jsonb_array_elements(whole -> 'roles') as role
  where effect ->> 'record' = 'permission'
$$;

-- The changes after this one that concern one of these records, or one of another kind with the same id.
create function changes_after(change_id bigint, keys text[]) returns setof changes language sql stable as $$
  select *
  from changes
  where
    id > change_id
    and records is null
    and record_id = any(array(select cast(split_part(key, '/', 2) as bigint) from unnest(keys) as key))
  union all
  select * from changes where id > change_id and records && keys
$$;

-- What changes after this one touched of these records: who deletes or merges a contributor touches their series, too.
-- Changes that were taken back do not count, nor does what only takes back a later change.
create function later_changes(change_id bigint, excluded bigint[], keys text[]) returns table (
  id bigint, record text, field text
) language sql stable as $$
  select change.id, touched.record, touched.field
  from
    changes_after(change_id, keys) as change
    cross join lateral jsonb_array_elements(effects_of(change)) as effect
    cross join lateral (
      select * from footprint(effect)
      union all
      select
        concat('series/', coalesce(work ->> 'id', work #>> '{}')), concat('contributors/', effect ->> 'id')
      from
        unnest(array['series', 'added_series', 'removed_series', 'modified_series']) as list
        cross join lateral jsonb_array_elements(effect -> 'before' -> list) as work
      where effect ->> 'record' = 'contributor'
    ) as touched
  where
    undone_by is null
    and change.id <> all(excluded)
    and (undoes is null or change_id >= any(undoes))
    and coalesce(cast(effect ->> 'undoes' as bigint), 0) <= change_id
$$;

-- The version of a record that is there again after a change deleted it: it is higher than any that it had, also if it
-- was there again before, and was deleted again.
create function next_version(kind text, target bigint, change_id bigint, former bigint) returns bigint
  language sql stable as $$
  select 1 + greatest(former, max(cast(deleted ->> 'version' as bigint)))
  from
    changes_after(change_id, array[concat_ws('/', kind, target)]) as change
    cross join lateral jsonb_array_elements(effects_of(change)) as effect
    cross join lateral coalesce(effect -> 'before' -> kind, effect -> 'before') as deleted
  where effect ->> 'did' = 'delete' and effect ->> 'record' = kind and cast(effect ->> 'id' as bigint) = target
$$;
