-- Takes an effect on a permission back.
create function undo_permission(target bigint, effect jsonb, change_id bigint) returns jsonb language plpgsql as $$
  declare
    former jsonb = effect -> 'before';
    fields permissions = jsonb_populate_record(
      (select permission from permissions as permission where id = target), coalesce(former -> 'permission', former)
    );
    before json = permission_record(target);
    role_ids bigint[] = ids(cast(former -> 'roles' as json));
    changed jsonb;
    missing jsonb;
  begin
    if effect ->> 'did' = 'add' then
      return jsonb_build_object('before', remove_permission(target), 'left_out', jsonb_build_array());
    end if;
    if effect ->> 'did' = 'edit' then
      update permissions set name = fields.name, description = fields.description where id = target;
      changed = replaced(before, permission_record(target));
      update permissions set version = version + 1 where id = target and changed <> '{}';
      return jsonb_build_object('before', changed, 'left_out', jsonb_build_array());
    end if;

    insert into permissions (id, key, name, description, version)
    overriding system value
    values (
      target, fields.key, fields.name, fields.description,
      next_version('permission', target, change_id, fields.version)
    );
    insert into role_permissions (role_id, permission_id)
    select id, target
    from roles
    where id = any(role_ids);
    perform check_permissions(role_ids);
    select coalesce(jsonb_agg(left_out(
      'role/' || gone, 'permissions/' || target, format('Role %s is gone', gone), 'role/' || gone
    ) order by gone), '[]')
    into missing
    from unnest(role_ids) as gone
    where gone not in (select id from roles);
    return jsonb_build_object('after', permission_with_roles(target), 'left_out', missing);
  end
$$;
