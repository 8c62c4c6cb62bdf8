-- POST /admin-permissions/add. The name of a missing permission of this service restores it with its key, and only the
-- Administrator role gets it. The name stays reserved while that permission has another one. Any other permission has
-- no key, and so no effect in this service.
create function add_permission(request request, caller caller) returns outcome language plpgsql as $$
  declare
    fields permissions = json_populate_record(cast(null as permissions), request.input);
    added bigint;
  begin
    insert into permissions (key, name, description)
    values (fields.key, fields.name, fields.description)
    returning id into added;
    if fields.key is not null then
      insert into role_permissions (role_id, permission_id) select id, added from roles where key = 'administrator';
    end if;
    return done(request, caller, to_json(added));
  end
$$;
