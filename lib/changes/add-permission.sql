-- POST /admin-permissions/add. The name of a missing permission of this service restores it with its key, and only the
-- Administrator role gets it. Any other permission has no key, and so no effect in this service.
create function add_permission(request request) returns outcome language plpgsql as $$
  declare
    missing text = request.asked ->> 'key';
    added bigint;
  begin
    if missing is not null and exists (select from permissions where key = missing) then
      missing = null;
    end if;
    insert into permissions (key, name, description)
    values (missing, request.asked ->> 'name', request.asked ->> 'description')
    on conflict do nothing
    returning id into added;
    if added is null then
      return refused(409);
    end if;

    if missing is not null then
      insert into role_permissions (role_id, permission_id) select id, added from roles where key = 'administrator';
    end if;
    return done(request, record => added);
  end
$$;
