-- GET /session
select octet_length(text), case when octet_length(text) <= 60000 then text end, status, caller_id, version, warning
from
  (
    select caller.status, caller.id as caller_id, result.*
    from
      (values (:1::text)) as session (digest)
      cross join release.session_caller (session.digest) as caller
      left join lateral (
        select *
        from
          (
            select cast(body as text) as text, version, warning
            from
              (
                select
                  null::bigint as version,
                  null::text as warning,
                  (
                    select row_to_json(record)
                    from
                      (
                        select
                          (
                            select row_to_json(record)
                            from (select users.id, slug, username, :2::text || '/' || image as profile_image) as record
                          ) as user,
                          caller.permission_keys as permissions,
                          to_char(caller.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as expires
                      ) as record
                  ) as body
                from users
                where id = caller.id
              ) as record
            offset 0
          ) as result
        where caller.status = 200
        offset 0
      ) as result on true
  ) as result;
-- :1 = '096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d'
-- :2 = 'http://localhost:3000/images'
