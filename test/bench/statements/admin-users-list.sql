select
  (select sum(tally) from tallies where subject = 'users' and scope = 0) as max,
  (
    select string_agg(cast(row_to_json(record) as text), ',')
    from (
      select
        id, slug, username, age_verified, coalesce(:images || '/' || image, '') as profile_image,
        to_char(registered at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as registered,
        array(
          select row_to_json(role)
          from (
            select roles.id, name, coalesce(description, '') as description
            from user_roles join roles on roles.id = role_id
            where user_id = users.id
            order by roles.id
          ) as role
        ) as roles,
        (
          select row_to_json(holder)
          from (
            select other.id, other.username
            from user_locks join users as other on other.id = holder_id
            where user_id = users.id and expires_at > now() and holder_id <> caller.id
          ) as holder
        ) as lock
      from users
      order by username_key, id
      limit :limit
    ) as record
  ) as records
from caller
