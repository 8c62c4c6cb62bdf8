select
  (
    select row_to_json(record)
    from (
      select
        roles.id, name, coalesce(description, '') as description, is_default,
        array(
          select row_to_json(permission)
          from (
            select permissions.id, name, description
            from role_permissions join permissions on permissions.id = permission_id
            where role_id = roles.id
            order by permissions.id
          ) as permission
        ) as permissions
    ) as record
  ) as body,
  version
from caller cross join roles
where roles.id = :id
