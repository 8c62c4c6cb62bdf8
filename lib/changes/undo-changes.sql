-- Whether the Administrator role has a user.
create function has_administrators() returns boolean language sql stable as $$
  select exists (select from user_roles join roles on roles.id = role_id where key = 'administrator')
$$;

-- The permissions of this service that the Administrator role has.
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

-- Whether the owner has emptied the row of a change (infra/README.md, "Take-downs").
create function is_emptied(change changes) returns boolean language sql immutable as $$
  select case
    when change.records is not null or change.endpoint like 'admin-%/delete' then change.before is null
    when starts_with(change.endpoint, 'admin-') then coalesce(cast(change.asked as text) = '{}', false)
    else false
  end
$$;

-- Why a change cannot be taken back at all, or null.
create function undo_error(change changes) returns text language plpgsql stable as $$
  begin
    return case
      when change.undone_by is not null then format('It was undone by change %s', change.undone_by)
      when change.endpoint = 'admin-users/delete' then 'A deleted user is deleted for good'
      when change.endpoint in ('admin-users/logout', 'sign-out') then 'Sessions that were ended stay ended'
      when change.endpoint = 'ops/create-user' then 'Delete the user in the panel instead, which is for good'
      when change.endpoint in ('ops/issue-refresh-token', 'sign-in/callback') then 'Log the user out instead'
      when change.endpoint = 'ops/link-identity' then 'Give or take the link by ops/link-identity instead'
      when is_emptied(change) then 'The ledger does not say any more what it did'
      when effects_of(change) <> '[]' then null
      when not starts_with(change.endpoint, 'admin-') then format('%s cannot be undone', change.endpoint)
      when starts_with(change.endpoint, 'admin-users/')
        and not exists (select from users where users.id = change.record_id)
        then 'What it did is forgotten, since its user was deleted'
      else 'It changed nothing'
    end;
  end
$$;

-- Who has a name now that one of these effects would bring back.
create function name_holder(effects jsonb) returns text language sql stable as $$
  with wanted as (
    select
      effect ->> 'record' as kind,
      cast(effect ->> 'id' as bigint) as id,
      coalesce(effect -> 'before' -> (effect ->> 'record'), effect -> 'before') as former
    from jsonb_array_elements(effects) as effect
  ), holder as (
    select kind, other.id
    from
      wanted
      left join contributors as own using (id)
      join contributors as other
        on identity_key(other.first_name) = identity_key(coalesce(former ->> 'first_name', own.first_name))
        and identity_key(other.last_name)
          = identity_key(case when former -> 'last_name' is null then own.last_name else former ->> 'last_name' end)
    where kind = 'contributor' and other.id <> wanted.id
    union all
    select kind, users.id
    from wanted join users on identity_key(users.username) = identity_key(former ->> 'username')
    where kind = 'user' and users.id <> wanted.id
    union all
    select kind, roles.id
    from wanted join roles on identity_key(roles.name) = identity_key(former ->> 'name')
    where kind = 'role' and roles.id <> wanted.id
    union all
    select kind, permissions.id
    from wanted join permissions on identity_key(permissions.name) = identity_key(former ->> 'name')
    where kind = 'permission' and permissions.id <> wanted.id
  )
  select format('%s %s', initcap(kind), id) from holder order by kind, id limit 1
$$;

-- What a broken constraint means.
create function constraint_reason(name text, effects jsonb) returns text language sql stable as $$
  select case
    when name in (
      'contributors_name_key', 'users_username_key', 'roles_name_key', 'permissions_name_key', 'tags_name_key'
    ) then coalesce(name_holder(effects), 'Another record') || ' has the name now'
    when name like '%\_slug_key' then 'Another record has the slug now'
    when name like '%\_external\_id\_key' then 'Another record has the externalId now'
    when name in ('permissions_key_key', 'roles_key_key') then 'It has been restored under another id'
    when name = 'roles_default_key' then 'Another role is the default role now'
    when name like '%\_client_id_fkey' then 'Its client is gone'
    else format('It would break %s', name)
  end
$$;

-- Takes a change back. Unless that is forced, nothing is done if somebody has changed the same since. It returns the
-- `effects`, the `conflicts` and what was `left_out`, or the `reason` why it is refused.
create function undo_change(change changes, is_forced boolean, excluded bigint[]) returns jsonb
  language plpgsql as $$
  declare
    reason text = undo_error(change);
    had_administrators boolean = has_administrators();
    former_permissions bigint[] = administrator_permissions();
    effect jsonb;
    undone jsonb;
    effects jsonb = '[]';
    conflicts jsonb = '[]';
    left_out jsonb = '[]';
  begin
    if reason is not null then
      return jsonb_build_object('reason', reason);
    end if;
    for effect in
      select value
      from jsonb_array_elements(effects_of(change)) with ordinality as done (value, place)
      order by place desc
    loop
      undone = undo_effect(effect, change.id, excluded);
      effects = effects || coalesce(undone -> 'effect', '[]');
      conflicts = conflicts || (undone -> 'conflicts');
      left_out = left_out || (undone -> 'left_out');
    end loop;
    if had_administrators and not has_administrators() then
      perform refuse_undo('The Administrator role would lose its last user');
    end if;
    if not administrator_permissions() @> former_permissions then
      perform refuse_undo('The Administrator role would lose a permission of this service');
    end if;
    if effects = '[]' then
      perform refuse_undo(left_out -> 0 ->> 'reason');
    end if;
    if conflicts <> '[]' and not is_forced then
      raise sqlstate 'CNFLT';
    end if;
    return jsonb_build_object('effects', effects, 'conflicts', conflicts, 'left_out', left_out);
  exception
    when sqlstate 'CNFLT' then
      return jsonb_build_object('conflicts', conflicts);
    when sqlstate 'REFUS' then
      return jsonb_build_object('reason', sqlerrm);
    when unique_violation or foreign_key_violation then
      get stacked diagnostics reason = constraint_name;
      return jsonb_build_object('reason', constraint_reason(reason, effects_of(change)));
  end
$$;

-- A change that is undone has no effect any more, and of an undo that means that what it took back is done again. The
-- recorded answer names no former image any more: whoever repeats the request would delete the objects once more.
create function mark_undone(change_id bigint, by_id bigint) returns void language plpgsql as $$
  declare
    taken_back bigint[];
  begin
    update changes
    set
      undone_by = by_id,
      answer = case
        when json_typeof(answer) = 'object' then cast(cast(answer as jsonb) - 'former' as json)
        else answer
      end
    where id = change_id
    returning undoes into taken_back;
    perform mark_undone(id, case when by_id is null then change_id end)
    from changes
    where id = any(taken_back) and undone_by is not distinct from case when by_id is not null then change_id end;
  end
$$;

-- An answer shows short effects whole while there is room, and otherwise which records they concern.
create function shown_effects(effects jsonb, has_room boolean) returns jsonb language sql immutable as $$
  select case
    when has_room and length(cast(effects as text)) <= 5000 then effects
    else (
      select jsonb_agg(effect - 'before' - 'after' order by place)
      from jsonb_array_elements(effects) with ordinality as done (effect, place)
      where place <= 100
    )
  end
$$;

create function first_hundred(elements jsonb) returns jsonb language sql immutable as $$
  select coalesce(jsonb_agg(element order by place) filter (where place <= 100), '[]')
  from jsonb_array_elements(elements) with ordinality as listed (element, place)
$$;

-- Takes changes back, the newest first. Records get only such `images` back whose objects have been restored; a dry run
-- supposes that all can be, if there is a file service (`hasImages`). A call ends when its answer has grown to half of
-- what a result of the Data API may have; `handled` says how many changes it has looked at.
create function undo_changes(request request) returns outcome language plpgsql as $$
  declare
    is_forced boolean = coalesce(cast(request.input ->> 'force' as boolean), false);
    change_id bigint;
    change changes;
    result jsonb;
    effects jsonb = '[]';
    undoes bigint[] = '{}';
    undone jsonb = '[]';
    conflicts jsonb = '[]';
    refused jsonb = '[]';
    handled integer = 0;
    size integer = 0;
    entry jsonb;
    change_ids bigint[] = ids(request.input -> 'changes');
    unknown_id bigint = (select id from unnest(change_ids) as id except select id from changes limit 1);
    outcome outcome;
  begin
    if unknown_id is not null then
      return refused(400, format('There is no change %s', unknown_id));
    end if;
    if is_dry_run(request) and cast(request.input ->> 'hasImages' as boolean) then
      perform postpone_removal(former_images(change_ids));
    else
      update images_to_remove
      set remove_after = now()
      where
        key = any(former_images(change_ids))
        and key not in (select json_array_elements_text(request.input -> 'images'));
    end if;
    -- An import that is taken back is over: it goes on no more, and the same file begins anew.
    update imports
    set is_done = true
    where source = (
      select asked ->> 'source'
      from changes
      where id = cast(request.input ->> 'import' as bigint) and endpoint = 'ops/import'
    );
    for change_id in select id from unnest(change_ids) as id order by id desc loop
      select * into change from changes where id = change_id;
      result = undo_change(change, is_forced, undoes);
      entry = null;
      if result -> 'reason' is not null then
        refused = refused
          || jsonb_build_object('change', change_id, 'endpoint', change.endpoint, 'reason', result -> 'reason');
      elsif result -> 'effects' is null then
        entry = first_hundred(result -> 'conflicts');
        conflicts = conflicts || entry;
      else
        effects = effects || (result -> 'effects');
        undoes = undoes || change_id;
        entry = named_change(change_id) || jsonb_build_object(
          'effects', shown_effects(result -> 'effects', size < 300000),
          'overridden', first_hundred(result -> 'conflicts'),
          'leftOut', first_hundred(result -> 'left_out')
        );
        undone = undone || entry;
      end if;
      handled = handled + 1;
      size = size + octet_length(cast(coalesce(entry, result) as text));
      exit when size > 600000;
    end loop;

    request.input = cast(cast(request.input as jsonb) - array['changes', 'images', 'hasImages'] as json);
    outcome = operated(request, effects, jsonb_build_object(
      'undone', undone, 'conflicts', conflicts, 'refused', refused, 'handled', handled
    ), undoes);
    perform mark_undone(id, cast(outcome.answer ->> 'change' as bigint))
    from unnest(undoes) as id
    where outcome.answer -> 'change' is not null;
    return outcome;
  end
$$;
