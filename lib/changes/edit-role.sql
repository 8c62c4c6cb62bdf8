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
    if not array(select id from permissions where id = any(wanted)) @> wanted
      or added <> '{}' and cardinality(without(held || added, removed)) > 500
    then
      return refused(400, 'added_permissions');
    end if;
    if exceeds(request.caller, added)
      or before ->> 'key' = 'administrator' and (
        not holds_all(request.caller)
        or exists (select from permissions where id = any(removed) and id = any(held) and key is not null)
      )
    then
      return refused(403);
    end if;
    if exists (select from roles where identity_key(name) = identity_key(asked ->> 'name') and id <> target) then
      return refused(409);
    end if;

    update roles
    set
      name = asked ->> 'name',
      description = case when asked -> 'description' is null then description else asked ->> 'description' end,
      version = version + 1
    where id = target;
    insert into role_permissions (role_id, permission_id) select target, unnest(added);
    delete from role_permissions where role_id = target and permission_id = any(removed);
    return done(request, before);
  end
$$;
