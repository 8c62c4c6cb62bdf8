create function are_permissions(wanted bigint[]) returns boolean language sql stable as $$
  select array(select id from permissions where id = any(wanted)) @> wanted
$$;

-- Whether one of the fifteen that are held is among those to be removed.
create function strips(removed bigint[], held bigint[]) returns boolean language sql stable as $$
  select exists (select from permissions where id = any(removed) and id = any(held) and key is not null)
$$;

-- POST /admin-roles/edit/{id}. A permission that is both added and removed ends up removed; a description that is left
-- out stays. The Administrator role is edited only by those who hold all it can permit, and is stripped of none of it.
create function edit_role(request request) returns outcome language plpgsql as $$
  declare
    target bigint = request.target;
    asked json = request.asked;
    before json = role_record(target);
    held bigint[] = ids(before -> 'permissions');
    wanted bigint[] = ids(asked -> 'added_permissions');
    removed bigint[] = ids(asked -> 'removed_permissions');
    added bigint[] = without(wanted, held || removed);
  begin
    if objection(request, before) > 0 then
      return refused(objection(request, before));
    end if;
    if wanted <> '{}' and not are_permissions(wanted)
      or added <> '{}' and cardinality(without(held || added, removed)) > 500
    then
      return refused(400, 'added_permissions');
    end if;
    if added <> '{}' and exceeds(request.caller, added)
      or before ->> 'key' = 'administrator' and (not holds_all(request.caller) or strips(removed, held))
    then
      return refused(403);
    end if;

    begin
      update roles
      set
        name = asked ->> 'name',
        description = case when asked -> 'description' is null then description else asked ->> 'description' end,
        version = version + 1
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
    return done(request, before);
  end
$$;
