-- Whether deleting a permission takes one of this service from the Administrator role.
create function strips_administrators(permission bigint) returns boolean language sql stable as $$
  select exists (
    select
    from
      role_permissions
      join roles on roles.id = role_id
      join permissions on permissions.id = permission_id
    where permission_id = permission and roles.key = 'administrator' and permissions.key is not null
  )
$$;

-- DELETE /admin-permissions/delete/{id}. Its rows in `role_permissions` go with it (`on delete cascade`), also that of
-- the Administrator role: so only users with this role may delete a permission of this service.
create function delete_permission(request request, caller caller) returns outcome language plpgsql as $$
  begin
    if lacks_any(caller.id, array[request.target])
      or strips_administrators(request.target) and not is_administrator(caller.id)
    then
      return refused(403);
    end if;

    delete from permissions where id = request.target;
    return done(request, caller);
  end
$$;
