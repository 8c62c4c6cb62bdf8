-- POST /admin-permissions/edit/{id}. The key stays, so the permission keeps its effect.
create function edit_permission(request request) returns outcome language plpgsql as $$
  declare
    target bigint = request.target;
    asked json = request.asked;
    before json = permission_record(target);
    changed jsonb;
  begin
    if record_error(request, before) > 0 then
      return refused(record_error(request, before));
    end if;
    if lacks_any(request.caller, array[target]) then
      return refused(403);
    end if;

    begin
      update permissions
      set name = asked ->> 'name', description = asked ->> 'description'
      where id = target;
    exception when unique_violation then
      return refused(409);
    end;
    changed = replaced(before, permission_record(target));
    update permissions set version = version + 1 where id = target and changed <> '{}';
    return edited(request, changed);
  end
$$;
