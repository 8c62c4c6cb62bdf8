-- Ends the undoing of a change for a reason that `force` does not override.
create function refuse_undo(reason text) returns void language plpgsql as $$
  begin
    raise sqlstate 'REFUS' using message = reason;
  end
$$;

-- What an undone change lacks. Its cause is the record for which that is, if something can be done about it: the one
-- that is gone, or the one that has it now, in this field.
create function left_out(record text, field text, reason text, cause text default null, cause_field text default '*')
  returns jsonb language sql immutable as $$
  select jsonb_build_object(
    'record', record, 'field', field, 'reason', reason, 'cause', cause, 'cause_field', cause_field
  )
$$;

-- Which other record has a slug now, also as a former one, or an external id, as `contributor/5`; null if none has. By
-- an external id that says a slug an import means whoever has that, too (import-lines.sql).
create function holder_of(kind text, target bigint, field text, wanted text) returns text language plpgsql stable as $$
  declare
    slug_wanted text = case field when 'slug' then wanted else said_slug(wanted) end;
    external_id_wanted text = case field when 'external_id' then wanted end;
  begin
    return kind || '/' || case kind
      when 'contributor' then (
        select min(id)
        from (
          select id from contributors where slug = slug_wanted or external_id = external_id_wanted
          union all
          select contributor_id from former_slugs where slug = slug_wanted
        ) as holder
        where id <> target
      )
      when 'publisher' then (
        select min(id)
        from publishers
        where (slug = slug_wanted or external_id = external_id_wanted) and id <> target
      )
      when 'series' then (
        select min(id) from series where (slug = slug_wanted or external_id = external_id_wanted) and id <> target
      )
    end;
  end
$$;

-- An external id, unless another record has it now.
create function free_external_id(kind text, target bigint, external_id text) returns text language sql stable as $$
  select external_id where holder_of(kind, target, 'external_id', external_id) is null
$$;

-- What is left out of a record that is there again, since another one has it now. The database has given it another
-- slug, as it does for a new record.
create function left_out_identifiers(kind text, target bigint, former jsonb, state jsonb) returns jsonb
  language sql stable as $$
  select coalesce(jsonb_agg(left_out(
    concat_ws('/', kind, target), field,
    concat(
      initcap(replace(holder, '/', ' ')), ' has ', former ->> field, ' now', ', so it is ' || (state ->> field)
    ),
    holder, 'slugs/' || (former ->> 'slug')
  )), '[]')
  from
    unnest(array['slug', 'external_id']) as field
    cross join lateral holder_of(kind, target, field, former ->> field) as holder
  where former -> field <> state -> field
$$;

-- What is left out if a record should get its former image again, and that has not been restored.
create function left_out_image(record text, former jsonb, current text) returns jsonb language plpgsql as $$
  declare
    image_key text = former ->> 'image';
  begin
    if image_key is null or image_key = current or take_image(image_key) then
      return null;
    end if;
    return left_out(record, 'image', 'The image could not be restored');
  end
$$;

-- A record as it is now; null if there is none. To undo an addition or a deletion it has what leads to it as well.
create function record_state(record text, target bigint, is_edit boolean) returns jsonb language plpgsql stable as $$
  declare
    state jsonb = case record
      when 'contributor' then contributor_record(target)
      when 'user' then user_record(target)
      when 'role' then role_record(target)
      when 'permission' then permission_record(target)
      when 'publisher' then cast(publisher_record(target) as json)
      when 'series' then cast(series_record(target) as json)
      when 'tag' then cast(tag_record(target) as json)
      when 'client' then cast(client_record(target) as json)
    end;
  begin
    return case
      when is_edit then state
      when record = 'role' then state || (role_with_users(target) - 'role')
      when record = 'permission' then state || (permission_with_roles(target) - 'permission')
      when record = 'publisher' then publisher_with_references(target)
      when record = 'tag' then tag_with_series(target)
      else state
    end;
  end
$$;

-- The new values of what an edit changed, from the record as it is now.
create function current_values(before jsonb, state jsonb) returns jsonb language sql stable as $$
  select coalesce(jsonb_object_agg(key, latest), '{}')
  from (
    select key, state -> key as latest from jsonb_each(before) where key !~ '^(added|removed|modified)_'
    union all
    select
      key,
      jsonb_agg(
        case did
          when 'added' then present.element - 'contributor_id'
          else (select jsonb_object_agg(name, present.element -> name) from jsonb_object_keys(former.element) as name)
        end
        order by cast(present.element ->> 'id' as bigint)
      )
    from elements_of_edit(before) as former join elements_of(state) as present using (field)
    where did <> 'removed' and jsonb_typeof(present.element) = 'object'
    group by key
  ) as field
  where latest is not null
$$;

-- Takes an effect back, by the function of its kind of record.
create function undo_record(effect jsonb, change_id bigint, excluded bigint[]) returns jsonb language plpgsql as $$
  declare
    target bigint = effect ->> 'id';
  begin
    return case effect ->> 'record'
      when 'contributor' then undo_contributor(target, effect, change_id)
      when 'permission' then undo_permission(target, effect, change_id)
      when 'publisher' then undo_publisher(target, effect)
      when 'series' then undo_series_record(target, effect)
      when 'tag' then undo_tag(target, effect)
      when 'client' then undo_client(target, effect)
      when 'role' then undo_role(target, effect, change_id, excluded)
      when 'user' then undo_user(target, effect)
    end;
  end
$$;

-- Of an effect on a record that is gone nothing can be taken back, so it is left out of what the change did. Deleted
-- users cannot come back, and are no conflict.
create function gone_record(effect jsonb, change_id bigint, excluded bigint[]) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'left_out', jsonb_build_array(left_out(own, '*', reason)),
    'conflicts', case
      when effect ->> 'record' = 'user' then jsonb_build_array()
      else jsonb_build_array(jsonb_build_object(
        'change', change_id, 'record', own, 'field', '*', 'now', null, 'reason', reason,
        'later', named_change(newest_change(change_id, excluded, own))
      ))
    end
  )
  from
    concat_ws('/', effect ->> 'record', effect ->> 'id') as own
    cross join lateral concat(
      initcap(effect ->> 'record'), ' ', effect ->> 'id', ' was deleted',
      case when effect ->> 'record' = 'user' then ', which is for good' end
    ) as reason
$$;

-- Takes an effect back, whatever stands in its way. Returns the effect of this, the conflicts, and what was left out.
create function undo_effect(effect jsonb, change_id bigint, excluded bigint[]) returns jsonb language plpgsql as $$
  declare
    record text = effect ->> 'record';
    target bigint = effect ->> 'id';
    own text = concat_ws('/', record, target);
    is_edit boolean = effect ->> 'did' = 'edit';
    state jsonb = record_state(record, target, is_edit);
    conflicts jsonb;
    undone jsonb;
  begin
    if effect ->> 'did' = 'delete' and state is not null then
      perform refuse_undo(format(
        'There is a %s %s again, %s', record, target, after_change(newest_change(change_id, excluded, own))
      ));
    elsif effect ->> 'did' <> 'delete' and state is null then
      return gone_record(effect, change_id, excluded);
    end if;

    conflicts = conflicts_of(change_id, excluded, effect, state);
    undone = undo_record(effect, change_id, excluded);
    select coalesce(jsonb_agg(conflict), '[]') into conflicts
    from jsonb_array_elements(conflicts) as conflict
    where not exists (
      select
      from jsonb_array_elements(undone -> 'left_out') as missing
      where missing -> 'record' = conflict -> 'record' and missing -> 'field' = conflict -> 'field'
    );
    select conflicts || coalesce(jsonb_agg(jsonb_build_object(
      'change', change_id,
      'record', missing -> 'record',
      'field', missing -> 'field',
      'now', null,
      'reason', missing -> 'reason',
      'later', named_change(newest_change(change_id, excluded, missing ->> 'cause', array[missing ->> 'cause_field']))
    )), '[]')
    into conflicts
    from jsonb_array_elements(undone -> 'left_out') as missing
    where missing ->> 'cause' is not null;
    if is_edit and not exists (select from jsonb_object_keys(effect -> 'before') as key where key <> 'image')
      and undone -> 'left_out' <> '[]'
    then
      perform refuse_undo(undone -> 'left_out' -> 0 ->> 'reason');
    end if;

    state = case effect ->> 'did' when 'add' then state else record_state(record, target, is_edit) end;
    return jsonb_build_object(
      'effect',
      jsonb_build_object('record', record, 'id', target, 'name', record_name(state), 'undoes', change_id)
      || case effect ->> 'did'
        when 'add' then jsonb_build_object('did', 'delete', 'before', undone -> 'before')
        when 'delete' then jsonb_build_object('did', 'add', 'after', undone -> 'after')
        else jsonb_build_object(
          'did', 'edit', 'before', undone -> 'before', 'after', current_values(undone -> 'before', state)
        )
      end,
      'conflicts', conflicts,
      'left_out', (
        select coalesce(jsonb_agg(missing - array['cause', 'cause_field']), '[]')
        from jsonb_array_elements(undone -> 'left_out') as missing
      )
    );
  end
$$;
