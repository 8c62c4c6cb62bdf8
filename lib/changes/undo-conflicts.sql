-- What keeps a change from being taken back: somebody has changed the same again since. The ledger knows what this
-- service did, and the values show what other programs did.

-- The elements of a record's lists, by their fields. A merge has a hundred thousand, so they are joined, and never
-- searched for one by one.
create function elements_of(state jsonb) returns table (field text, element jsonb) language sql immutable as $$
  select
    case key when 'former_slugs' then 'slugs' else key end || '/' || coalesce(element ->> 'id', element #>> '{}'),
    element
  from
    jsonb_each(state)
    cross join lateral jsonb_array_elements(case jsonb_typeof(value) when 'array' then value end) as element
$$;

-- The elements that an edit added, removed or modified, as it has them before or after.
create function elements_of_edit(part jsonb) returns table (key text, did text, field text, element jsonb)
  language sql immutable as $$
  select
    key,
    substring(key from '^[a-z]+'),
    regexp_replace(key, '^[a-z]+_', '') || '/' || coalesce(element ->> 'id', element #>> '{}'),
    element
  from
    jsonb_each(part)
    cross join lateral jsonb_array_elements(case when key ~ '^(added|removed|modified)_' then value end) as element
$$;

-- The fields and elements that are no longer as an edit left them.
create function changed_since_edit(own text, effect jsonb, state jsonb) returns table (
  record text, field text, now jsonb
) language sql immutable as $$
  select own, key, state -> key
  from jsonb_each(effect -> 'after')
  where
    key !~ '^(added|removed|modified)_'
    and effect -> 'before' -> key is not null
    and state -> key is distinct from value
  union all
  select own, former.field, present.element
  from
    elements_of_edit(effect -> 'before') as former
    left join elements_of_edit(effect -> 'after') as expected using (key, field)
    left join elements_of(state) as present using (field)
  where
    case
      when former.did = 'removed' then present.element is not null
      else present.element is null or not coalesce(present.element @> expected.element, true)
    end
$$;

-- What is no longer as an addition left it: its fields, what was added to it, and what leads to it.
create function changed_since_addition(own text, effect jsonb, state jsonb) returns table (
  record text, field text, now jsonb
) language sql immutable as $$
  with added as (
    select jsonb_object_agg(key, value) as fields
    from jsonb_each(effect -> 'after' || coalesce(effect -> 'after' -> (effect ->> 'record'), '{}'))
    where state -> key is not null
  ), element as (
    select split_part(field, '/', 1) as list, field, element, is_present
    from
      added
      cross join lateral (
        (
          select field, element, true from elements_of(state)
          except all
          select field, element, true from elements_of(fields)
        )
        union all
        (
          select field, element, false from elements_of(fields)
          except all
          select field, element, false from elements_of(state)
        )
      ) as difference (field, element, is_present)
    where field !~ '^links/'
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
      else field
    end,
    case when is_present then element end
  from element
$$;

-- The newest change after this one that added, deleted or brought back a record, or that touched one of these fields
-- of it; null if that was another program.
create function newest_change(change_id bigint, excluded bigint[], key text, fields text[] default '{}')
  returns bigint language sql stable as $$
  select max(id)
  from later_changes(change_id, excluded, array[key])
  where record = key and field = any(array['*'] || fields)
$$;

-- What to do first, in a reason.
create function after_change(change_id bigint) returns text language sql immutable as $$
  select coalesce('by change ' || change_id || ', undo that first', 'by another program')
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
        select record, field, null, false
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
        union
        select concat('contributor/', credit ->> 'id')
        from
          unnest(array[effect -> 'before', effect -> 'after', state]) as series
          cross join lateral jsonb_array_elements(series -> 'contributors') as credit
        where effect ->> 'record' = 'series'
      ), later as (
        select * from later_changes(change_id, excluded, array(select key from related))
      ), touched as (
        select field.record, field.field, later.field as later_field, later.id
        from field join later using (record, field)
        union all
        -- Of publishers and series an edit has whole lists, and a deletion or a merge of others touches an element.
        select field.record, field.field, later.field, later.id
        from field join later on later.record = field.record and split_part(later.field, '/', 1) = field.field
        where later.field <> field.field
        union all
        select field.record, field.field, later.field, later.id
        from field join later on later.record = field.record and later.field = split_part(field.field, '/', 1)
        where later.field <> field.field
        union all
        select record, field.field, later.field, later.id
        from field join later using (record)
        where field.field = '*' and later.field <> '*'
        union all
        select record, field.field, later.field, later.id
        from field join later using (record)
        where field.field <> '*' and later.field = '*'
      ), conflict as (
        select distinct on (record, name)
          record, coalesce(nullif(field, '*'), later_field) as name, now, id
        from field left join touched using (record, field)
        where is_changed or id is not null
        order by record, name, is_changed desc, id desc nulls last, now nulls last
      )
      select coalesce(jsonb_agg(jsonb_build_object(
        'change', change_id,
        'record', record,
        'field', name,
        'now', excerpt(coalesce(now, case when record = own then coalesce(state -> name, element) end)),
        'later', named_change(id)
      ) order by record, name), '[]')
      from conflict left join elements_of(state) as present on present.field = name and record = own
    );
  end
$$;
