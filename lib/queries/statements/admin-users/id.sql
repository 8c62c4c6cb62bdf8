-- GET /admin-users/id/{id}
select octet_length(text), case when octet_length(text) <= 60000 then text end, status, caller_id, version, warning
from
  (
    select caller.status, caller.id as caller_id, result.*
    from
      (values (:1::text)) as session (digest)
      cross join release.caller (session.digest, :2::text, :3::int) as caller
      left join lateral (
        select *
        from
          (
            select cast(body as text) as text, version, warning
            from
              (
                select
                  version,
                  warning,
                  (
                    select row_to_json(record)
                    from
                      (
                        select
                          id,
                          slug,
                          username,
                          :4::text || '/' || image as profile_image,
                          to_char(registered at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as registered,
                          age_verified,
                          exists (
                            select
                            from refresh_tokens
                            where user_id = users.id and expires_at > now() and revoked_at is null
                          ) as logged_in,
                          array(
                            select row_to_json(record)
                            from
                              (
                                select roles.id, name, description as description
                                from user_roles as assigned join roles on roles.id = assigned.role_id
                                where assigned.user_id = users.id
                                order by roles.id
                              ) as record
                          ) as roles
                      ) as record
                  ) as body
                from users, lateral release.open_record (session.digest, :5::text, users.id) as opened
                where id = :6::bigint and still_exists
              ) as record
            offset 0
          ) as result
        where caller.status = 200
        offset 0
      ) as result on true
  ) as result;
-- :1 = '096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d'
-- :2 = 'view-users'
-- :3 = 404
-- :4 = 'http://localhost:3000/images'
-- :5 = 'user'
-- :6 = 4
