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
      when change.endpoint in ('admin-users/logout', 'ops/end-sessions', 'sign-out')
        then 'Sessions that were ended stay ended'
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

-- Which other record has what an effect would bring back, by the constraint that it breaks, as `role/5`.
create function rival_of(constraint_name text, effect jsonb) returns text language plpgsql stable as $$
  declare
    target bigint = effect ->> 'id';
    former jsonb = coalesce(effect -> 'before' -> (effect ->> 'record'), effect -> 'before');
    name_wanted text = identity_key(coalesce(former ->> 'name', former ->> 'username'));
    fields contributors;
  begin
    if constraint_name = 'contributors_name_key' then
      select * into fields from contributors where id = target;
      fields = jsonb_populate_record(fields, former);
    end if;
    return case constraint_name
      when 'contributors_name_key' then (
        select 'contributor/' || id
        from contributors
        where
          identity_key(first_name) = identity_key(fields.first_name)
          and identity_key(last_name) = identity_key(fields.last_name)
          and id <> target
      )
      when 'users_username_key' then (
        select 'user/' || id from users where identity_key(username) = name_wanted and id <> target
      )
      when 'roles_name_key' then (
        select 'role/' || id from roles where identity_key(name) = name_wanted and id <> target
      )
      when 'permissions_name_key' then (
        select 'permission/' || id from permissions where identity_key(name) = name_wanted and id <> target
      )
      when 'tags_name_key' then (
        select 'tag/' || id from tags where identity_key(name) = name_wanted and id <> target
      )
      when 'roles_key_key' then (select 'role/' || id from roles where key = former ->> 'key')
      when 'permissions_key_key' then (select 'permission/' || id from permissions where key = former ->> 'key')
      when 'roles_default_key' then (select 'role/' || id from roles where is_default = 1)
    end;
  end
$$;

-- What a broken constraint means, by which later change, and what to do first. Nobody gets a name that nobody chose.
create function constraint_reason(constraint_name text, effect jsonb, change_id bigint, excluded bigint[]) returns text
  language plpgsql stable as $$
  declare
    rival text = rival_of(constraint_name, effect);
    who text = coalesce(initcap(replace(rival, '/', ' ')), 'Another record');
    client text = 'client/' || (effect -> 'before' ->> 'client_id');
    later bigint = newest_change(
      change_id, excluded, coalesce(rival, client), array['name', 'username', 'first_name', 'last_name']
    );
    later_in_words text;
  begin
    if later is null and constraint_name in ('permissions_key_key', 'roles_key_key') then
      later = (select max(id) from changes where id > change_id and endpoint = 'ops/migrate');
    end if;
    later_in_words = coalesce('by change ' || later, 'by another program');
    return case
      when constraint_name like '%name\_key'
        then format('%s has the name now, %s, rename that first', who, later_in_words)
      when constraint_name in ('permissions_key_key', 'roles_key_key')
        then format('%s was restored in its place %s, delete that first', who, later_in_words)
      when constraint_name = 'roles_default_key' then format('%s is the default role now, %s', who, later_in_words)
      when constraint_name like '%\_client_id_fkey'
        then format('%s was deleted %s', initcap(replace(client, '/', ' ')), after_change(later))
      else format('It would break %s', constraint_name)
    end;
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
      perform refuse_undo(concat(
        left_out -> 0 ->> 'reason',
        case when conflicts <> '[]' then ' ' || after_change(cast(conflicts #>> '{0,later,change}' as bigint)) end
      ));
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
      return jsonb_build_object('reason', constraint_reason(reason, effect, change.id, excluded));
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
-- To plan its statements anew for each record of a change would take most of the time.
create function undo_changes(request request) returns outcome
  language plpgsql
  set plan_cache_mode = force_generic_plan
  as $$
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
