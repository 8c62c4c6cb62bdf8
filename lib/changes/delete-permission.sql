-- DELETE /admin-permissions/delete/{id}. Its rows in `role_permissions` go with it (`on delete cascade`), also that of
-- the Administrator role: so only users with this role may delete a permission of this service.
create function delete_permission(request request, caller caller) returns outcome language plpgsql as $$
  declare
    of_administrators integer = bits_of(permissions_of(array(select id from roles where key = 'administrator')));
  begin
    if lacks_any(caller.id, array[request.target]) then
      return forbidden(1);
    end if;
    if bits_of(array[request.target]) & of_administrators <> 0 and not is_administrator(caller.id) then
      return forbidden(3);
    end if;

    delete from permissions where id = request.target;
    return done(request, caller);
  end
$$;
