-- DELETE /admin-permissions/delete/{id}. Its rows in `role_permissions` go with it (`on delete cascade`).
create function delete_permission(request request) returns outcome language plpgsql as $$
  declare
    before json = permission_record(request.target);
    roles bigint[];
  begin
    if record_error(request, before) > 0 then
      return refused(record_error(request, before));
    end if;
    if lacks_any(request.caller, array[request.target]) then
      return refused(403);
    end if;

    roles = array(select role_id from role_permissions where permission_id = request.target order by role_id);
    delete from permissions where id = request.target;
    return done(request, json_build_object('permission', before, 'roles', roles));
  end
$$;
