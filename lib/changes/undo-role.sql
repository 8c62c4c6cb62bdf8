-- Refuses what would give a user more roles than an edit may.
create function check_roles(user_ids bigint[]) returns void language plpgsql as $$
  declare
    excess text;
  begin
    select format('User %s would have %s roles, and can have 200', user_id, count(*)) into excess
    from user_roles
    where user_id = any(user_ids)
    group by user_id
    having count(*) > 200
    limit 1;
    if excess is not null then
      perform refuse_undo(excess);
    end if;
  end
$$;

-- Refuses what would give a role more permissions than an edit may.
create function check_permissions(role_ids bigint[]) returns void language plpgsql as $$
  declare
    excess text;
  begin
    select format('Role %s would have %s permissions, and can have 500', role_id, count(*)) into excess
    from role_permissions
    where role_id = any(role_ids)
    group by role_id
    having count(*) > 500
    limit 1;
    if excess is not null then
      perform refuse_undo(excess);
    end if;
  end
$$;

-- What a role does not get back, since these permissions are gone.
create function missing_permissions(target bigint, former bigint[]) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(left_out(
    'role/' || target, 'permissions/' || permission, format('Permission %s is gone', permission),
    'permission/' || permission
  ) order by permission), '[]')
  from unnest(former) as permission
  where permission not in (select id from permissions)
$$;

create function undo_role_edit(target bigint, former jsonb) returns jsonb language plpgsql as $$
  declare
    fields roles = jsonb_populate_record((select role from roles as role where id = target), former);
    before json = role_record(target);
    removed bigint[] = ids(cast(former -> 'removed_permissions' as json));
    changed jsonb;
  begin
    update roles set name = fields.name, description = fields.description where id = target;
    delete from role_permissions
    where role_id = target and permission_id = any(ids(cast(former -> 'added_permissions' as json)));
    insert into role_permissions (role_id, permission_id)
    select target, id
    from permissions
    where id = any(removed)
    on conflict do nothing;
    if found then
      perform check_permissions(array[target]);
    end if;
    changed = replaced(before, role_record(target));
    update roles set version = version + 1 where id = target and changed <> '{}';
    return jsonb_build_object('before', changed, 'left_out', missing_permissions(target, removed));
  end
$$;

-- Users who got the default role since this one was their last lose it again, unless somebody has given it to them
-- since.
create function undo_role_deletion(
  target bigint, former jsonb, change_id bigint, excluded bigint[]
) returns jsonb language plpgsql as $$
  declare
    fields roles = jsonb_populate_record(cast(null as roles), former -> 'role');
    permission_ids bigint[] = ids(cast(former -> 'role' -> 'permissions' as json));
    user_ids bigint[] = ids(cast(former -> 'users' as json));
    default_id bigint = former ->> 'default_role';
    defaulted bigint[];
    missing_users jsonb;
  begin
    insert into roles (id, key, name, description, is_default, version)
    overriding system value
    values (
      target, fields.key, fields.name, fields.description, fields.is_default,
      next_version('role', target, change_id, fields.version)
    );
    insert into role_permissions (role_id, permission_id)
    select target, id
    from permissions
    where id = any(permission_ids);
    insert into user_roles (user_id, role_id)
    select id, target
    from users
    where id = any(user_ids);
    defaulted = array(
      select user_id
      from user_roles
      where user_id = any(ids(cast(former -> 'defaulted' as json))) and role_id = default_id
      order by user_id
    );
    if defaulted <> '{}' then
      defaulted = without(defaulted, array(
        select cast(substr(record, length('user/') + 1) as bigint)
        from later_changes(change_id, excluded, array(select 'user/' || id from unnest(defaulted) as id))
        where starts_with(record, 'user/') and field = 'roles/' || default_id
      ));
      delete from user_roles where user_id = any(defaulted) and role_id = default_id;
    end if;
    perform check_roles(user_ids);
    select
      coalesce(jsonb_agg(
        left_out('user/' || gone, 'roles/' || target, format('User %s is gone', gone)) order by gone
      ), '[]')
    into missing_users
    from unnest(without(user_ids, array(select user_id from user_roles where role_id = target))) as gone;
    return jsonb_build_object(
      'after', role_with_users(target) || case
        when defaulted = '{}' then '{}'
        else jsonb_build_object('default_role', default_id, 'defaulted', defaulted)
      end,
      'left_out', missing_permissions(target, permission_ids) || missing_users
    );
  end
$$;

create function undo_role(target bigint, effect jsonb, change_id bigint, excluded bigint[]) returns jsonb
  language plpgsql as $$
  begin
    if effect ->> 'did' = 'edit' then
      return undo_role_edit(target, effect -> 'before');
    end if;
    if effect ->> 'did' = 'delete' then
      return undo_role_deletion(target, effect -> 'before', change_id, excluded);
    end if;
    if exists (select from roles where id = target and is_default = 1) then
      perform refuse_undo('It is the default role');
    end if;
    return jsonb_build_object('before', remove_role(target), 'left_out', jsonb_build_array());
  end
$$;
