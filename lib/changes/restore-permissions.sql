-- A name for a permission or role of this service: its own, or its own with the time if that name is taken.
create function available_name(name text, is_taken boolean) returns text language sql stable as $$
  select name || case when is_taken then to_char(now(), ' (YYYY-MM-DD HH24.MI.SS)') else '' end
$$;

-- Restores missing permissions of this service and the Administrator role, and gives the role all of them. The service
-- checks only keys, so any name will do.
create function restore_permissions(request request) returns outcome language plpgsql as $$
  begin
    insert into permissions (key, name, description)
    select
      missing.key,
      available_name(
        missing.key,
        exists (select from permissions as taken where identity_key(taken.name) = identity_key(missing.key))
      ),
      missing.value
    from json_each_text(request.input) as missing
    where missing.key not in (select key from permissions where key is not null);

    insert into roles (key, name, description)
    values (
      'administrator',
      available_name('Administrator', exists (select from roles where identity_key(name) = 'administrator')),
      'May do everything'
    )
    on conflict (key) do nothing;
    insert into role_permissions (role_id, permission_id)
    select role.id, permission.id
    from roles as role cross join permissions as permission
    where role.key = 'administrator' and permission.key is not null
    on conflict do nothing;
    return operated(request, '{}');
  end
$$;
