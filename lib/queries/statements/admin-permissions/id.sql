-- GET /admin-permissions/id/{id}
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
                  null::text as warning,
                  (select row_to_json(record) from (select id, name, description) as record) as body
                from permissions
                where id = :4::bigint
              ) as record
            offset 0
          ) as result
        where caller.status = 200
        offset 0
      ) as result on true
  ) as result;
-- :1 = '096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d'
-- :2 = 'view-permissions'
-- :3 = 401
-- :4 = 1
