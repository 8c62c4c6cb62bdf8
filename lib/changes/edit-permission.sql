-- POST /admin-permissions/edit/{id}. The key stays, so the permission keeps its effect. The original name of a
-- permission of this service, whose key is in the input, is reserved for that one.
create function edit_permission(request request, caller caller) returns outcome language plpgsql as $$
  declare
    target bigint = request.target;
    fields permissions = json_populate_record(cast(null as permissions), request.input);
  begin
    if lacks_any(caller.id, array[target]) then
      return forbidden(1);
    end if;
    if fields.key <> coalesce((select key from permissions where id = target), '') then
      return refused(409);
    end if;

    update permissions
    set name = fields.name, description = fields.description, version = version + 1
    where id = target and (name, description) is distinct from (fields.name, fields.description);
    return done(request, caller);
  end
$$;
