-- POST /admin-roles/edit/{id}. A permission that is both added and removed is removed. Without a description the old
-- one stays. Only its users may edit the Administrator role, and it keeps all permissions of this service.
create function edit_role(request request, caller caller) returns outcome language plpgsql as $$
  declare
    target bigint = request.target;
    fields roles;
    current bigint[] = permissions_of(array[target]);
    requested bigint[] = ids(request.input -> 'added_permissions');
    removed bigint[] = ids(request.input -> 'removed_permissions');
    added bigint[] = without(requested, current || removed);
  begin
    select * into fields from roles where id = target;
    if not array(select id from permissions where id = any(requested)) @> requested then
      return invalid('added_permissions', 'unknown');
    end if;
    if added <> '{}' and cardinality(without(current || added, removed)) > 500 then
      return invalid('added_permissions', 'long');
    end if;
    if fields.key = 'administrator'
      and (not is_administrator(caller.id) or bits_of(removed) & bits_of(current) <> 0)
    then
      return forbidden(3);
    end if;
    if removed <> '{}' and strips_outranking_user(caller.id, target, removed) then
      return forbidden(2);
    end if;
    if added <> '{}' and lacks_any(caller.id, added) then
      return forbidden(1);
    end if;

    fields = json_populate_record(fields, request.input);
    if added <> '{}' then
      insert into role_permissions (role_id, permission_id) select target, unnest(added);
    end if;
    if removed <> '{}' then
      delete from role_permissions where role_id = target and permission_id = any(removed);
    end if;
    update roles
    set name = fields.name, description = fields.description, version = version + 1
    where id = target and ((name, description) is distinct from (fields.name, fields.description) or has_changed());
    return done(request, caller);
  end
$$;
