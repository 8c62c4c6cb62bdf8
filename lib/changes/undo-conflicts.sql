-- What keeps a change from being taken back: somebody has changed the same again since. The ledger knows what this
-- service did, and the values show what other programs did.

-- A field of a record, or an element, as it is now.
create function value_at(state jsonb, field text) returns jsonb language sql immutable as $$
  select case
    when field like '%/%' then (
      select element
      from jsonb_array_elements(
        case split_part(field, '/', 1)
          when 'slugs' then state -> 'former_slugs'
          else state -> split_part(field, '/', 1)
        end
      ) as element
      where coalesce(element ->> 'id', element #>> '{}') = split_part(field, '/', 2)
    )
    else state -> field
  end
$$;

-- The fields and elements that are no longer as an edit left them.
create function changed_since_edit(own text, effect jsonb, state jsonb) returns table (
  record text, field text, now jsonb
) language sql immutable as $$
  with part as (
    select
      key,
      substring(key from '^(added|removed|modified)_') as did,
      regexp_replace(key, '^(added|removed|modified)_', '') as list,
      value
    from jsonb_each(effect -> 'before')
  ), element as (
    select
      did,
      list || '/' || coalesce(former ->> 'id', former #>> '{}') as field,
      (
        select expected
        from jsonb_array_elements(effect -> 'after' -> key) as expected
        where coalesce(expected ->> 'id', expected #>> '{}') = coalesce(former ->> 'id', former #>> '{}')
      ) as expected
    from part cross join lateral jsonb_array_elements(value) as former
    where did is not null
  )
  select own, key, state -> key
  from part
  where did is null and effect -> 'after' -> key is not null and state -> key is distinct from effect -> 'after' -> key
  union all
  select own, field, value_at(state, field)
  from element
  where
    case
      when did = 'removed' then value_at(state, field) is not null
      else value_at(state, field) is null or not coalesce(value_at(state, field) @> expected, true)
    end
$$;

-- What is no longer as an addition left it: its fields, what was added to it, and what leads to it.
create function changed_since_addition(own text, effect jsonb, state jsonb) returns table (
  record text, field text, now jsonb
) language sql immutable as $$
  with added as (
    select effect -> 'after' || coalesce(effect -> 'after' -> (effect ->> 'record'), '{}') as fields
  ), element as (
    select key as list, element, is_present
    from
      added
      cross join lateral jsonb_each(state) as part
      cross join lateral (
        select element, true
        from (
          select jsonb_array_elements(part.value) except select jsonb_array_elements(fields -> key)
        ) as later (element)
        union all
        select element, false
        from (
          select jsonb_array_elements(fields -> key) except select jsonb_array_elements(part.value)
        ) as former (element)
      ) as difference (element, is_present)
    where jsonb_typeof(value) = 'array' and key <> 'links'
  )
  select own, key, value
  from added cross join lateral jsonb_each(state)
  where
    case
      when key = 'links' then value <> coalesce(fields -> key, '[]')
      else key <> 'version' and jsonb_typeof(value) <> 'array' and value <> fields -> key
    end
  union
  select
    case list
      when 'incoming_relations' then concat('contributor/', element ->> 'contributor_id')
      when 'users' then concat('user/', element)
      when 'roles' then concat('role/', element)
      else own
    end,
    case list
      when 'incoming_relations' then concat('relations/', element ->> 'id')
      when 'users' then concat('roles/', effect ->> 'id')
      when 'roles' then concat('permissions/', effect ->> 'id')
      else concat_ws('/', list, coalesce(element ->> 'id', element #>> '{}'))
    end,
    case when is_present then element end
  from element
$$;

-- A change as a conflict names it.
create function named_change(change_id bigint) returns jsonb language sql stable as $$
  select jsonb_build_object('change', id, 'endpoint', endpoint, 'at', at, 'userId', caller_id)
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

-- The conflicts of an effect with what came later, each with the newest change that touched the same, if one did.
create function conflicts_of(change_id bigint, excluded bigint[], effect jsonb, state jsonb) returns jsonb
  language plpgsql stable as $$
  declare
    own text = concat_ws('/', effect ->> 'record', effect ->> 'id');
  begin
    return (
      with field as (
        select record, field, now, true as is_changed
        from changed_since_edit(own, effect, state)
        where effect ->> 'did' = 'edit'
        union all
        select record, field, now, true
        from changed_since_addition(own, effect, state)
        where effect ->> 'did' = 'add'
        union all
        select record, field, value_at(state, field), false
        from footprint(effect)
        where effect ->> 'record' = 'user' or not starts_with(record, 'user/')
      ), related as (
        select record as key from field
        union
        select regexp_replace(field, '^(role|permission|contributor)s/', '\1/')
        from field
        where field ~ '^(role|permission|contributor)s/'
        union
        select concat('contributor/', id) from jsonb_path_query(effect, 'strict $.**.relation_id') as id
      ), later as (
        select * from later_changes(change_id, excluded, array(select key from related))
      ), conflict as (
        select distinct on (record, name)
          field.record, coalesce(nullif(field.field, '*'), later.field) as name, now, later.id
        from
          field
          left join later
            on later.record = field.record
            and (later.field in (field.field, '*') or field.field = '*')
        where is_changed or later.id is not null
        order by record, name, is_changed desc, later.id desc nulls last
      )
      select coalesce(jsonb_agg(jsonb_build_object(
        'change', change_id,
        'record', record,
        'field', name,
        'now', excerpt(coalesce(now, case when record = own then value_at(state, name) end)),
        'later', named_change(id)
      ) order by record, name), '[]')
      from conflict
    );
  end
$$;
