select
  (
    select row_to_json(record)
    from (
      select
        users.id, slug, username, :images || '/' || image as profile_image,
        to_char(registered at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as registered, age_verified,
        exists (
          select from refresh_tokens where user_id = users.id and expires_at > now() and revoked_at is null
        ) as logged_in,
        array(
          select row_to_json(role)
          from (
            select roles.id, name, description
            from user_roles join roles on roles.id = role_id
            where user_id = users.id
            order by roles.id
          ) as role
        ) as roles
    ) as record
  ) as body,
  version
from caller cross join users cross join lateral release.open_record(:digest, 'user', users.id) as opened
where users.id = :id and opened.still_exists
