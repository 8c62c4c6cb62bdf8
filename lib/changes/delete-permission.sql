-- DELETE /admin-permissions/delete/{id}. Roles lose it with its row.
create function delete_permission(request request) returns outcome language plpgsql as $$
  declare
    before json = permission_record(request.target);
    roles bigint[];
  begin
    if objection(request, before) > 0 then
      return refused(objection(request, before));
    end if;
    if exceeds(request.caller, array[request.target]) then
      return refused(403);
    end if;

    roles = array(select role_id from role_permissions where permission_id = request.target order by role_id);
    delete from permissions where id = request.target;
    return done(request, json_build_object('permission', before, 'roles', roles));
  end
$$;
