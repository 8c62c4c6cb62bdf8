select
  (select count(*) from roles) as max,
  (
    select string_agg(cast(row_to_json(record) as text), ',')
    from (
      select
        id, name, description, coalesce(permissions, 0) as permission_count, coalesce(tally, 0) as user_count
      from
        roles
        left join (
          select role_id, count(*) as permissions from role_permissions group by role_id
        ) as granted on role_id = roles.id
        left join tallies on subject = 'users of role' and scope = roles.id
      order by id
    ) as record
  ) as records
from caller
