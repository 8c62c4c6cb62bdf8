-- Whether all these permissions exist.
create function are_permissions(wanted bigint[]) returns boolean language sql stable as $$
  select array(select id from permissions where id = any(wanted)) @> wanted
$$;

-- Whether the removed permissions include one of this service that the role has.
create function removes_service_permission(removed bigint[], held bigint[]) returns boolean language sql stable as $$
  select exists (select from permissions where id = any(removed) and id = any(held) and key is not null)
$$;

-- POST /admin-roles/edit/{id}. A permission that is both added and removed is removed. Without a description the old
-- one stays. Only its users may edit the Administrator role, and it keeps all permissions of this service.
create function edit_role(request request) returns outcome language plpgsql as $$
  declare
    target bigint = request.target;
    asked json = request.asked;
    before json = role_record(target);
    held bigint[] = ids(before -> 'permissions');
    wanted bigint[] = ids(asked -> 'added_permissions');
    removed bigint[] = ids(asked -> 'removed_permissions');
    added bigint[] = without(wanted, held || removed);
    changed jsonb;
  begin
    if record_error(request, before) > 0 then
      return refused(record_error(request, before));
    end if;
    if wanted <> '{}' and not are_permissions(wanted)
      or added <> '{}' and cardinality(without(held || added, removed)) > 500
    then
      return refused(400, 'added_permissions');
    end if;
    if added <> '{}' and lacks_any(request.caller, added)
      or removed <> '{}' and strips_outranking_user(request.caller, target, removed)
      or before ->> 'key' = 'administrator'
        and (not is_administrator(request.caller) or removes_service_permission(removed, held))
    then
      return refused(403);
    end if;

    begin
      update roles
      set
        name = asked ->> 'name',
        description = case when asked -> 'description' is null then description else asked ->> 'description' end
      where id = target;
    exception when unique_violation then
      return refused(409);
    end;
    if added <> '{}' then
      insert into role_permissions (role_id, permission_id) select target, unnest(added);
    end if;
    if removed <> '{}' then
      delete from role_permissions where role_id = target and permission_id = any(removed);
    end if;
    changed = replaced(before, role_record(target));
    update roles set version = version + 1 where id = target and changed <> '{}';
    return edited(request, changed);
  end
$$;
