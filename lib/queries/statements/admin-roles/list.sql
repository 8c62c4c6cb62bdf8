-- GET /admin-roles
select octet_length(text), case when octet_length(text) <= 60000 then text end, status, caller_id, max, count
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
            with
              found as materialized (
                select id, id as key, name, description, version, changed_at
                from roles
                where true and true and true
              )
            select 0::bigint as max, count(*) as count, string_agg(cast(row_to_json(item) as text), ',') as text
            from
              (
                select
                  id,
                  name,
                  description,
                  coalesce(permissions, 0) as permission_count,
                  coalesce(total, 0) as user_count
                from
                  (select * from found where true order by key asc, id asc limit :4::bigint offset :5::bigint) as page
                  left join (
                    select role_id, count(*) as permissions
                    from role_permissions
                    group by role_id
                  ) as granted on role_id = id
                  left join (
                    select scope, sum(total)::bigint as total
                    from counters
                    where subject = 'users of role'
                    group by scope
                  ) as counted on scope = id
                order by key asc, id asc
              ) as item
          ) as result
        where caller.status = 200
        offset 0
      ) as result on true
  ) as result;
-- :1 = '096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d'
-- :2 = 'view-roles'
-- :3 = 401
-- :4 = 400
-- :5 = 0

-- The next page of a list that exceeds a result of the Data API
select
  octet_length(bytes),
  chunk,
  encode(substring(bytes from 1 + 45000 * chunk for 45000), 'base64'),
  status,
  caller_id,
  max,
  count,
  next_id,
  next_key
from
  (
    select *, convert_to(text, 'UTF8') as bytes
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
                with
                  found as materialized (
                    select id, id as key, name, description, version, changed_at
                    from roles
                    where true and true and true
                  ),
                  page as materialized (
                    select id, cast(row_to_json(item) as text) as record
                    from
                      (
                        select
                          id,
                          name,
                          description,
                          coalesce(permissions, 0) as permission_count,
                          coalesce(total, 0) as user_count
                        from
                          (
                            select *
                            from found
                            where (key, id) > (:4::bigint, :5::bigint)
                            order by key asc, id asc
                            limit :6::bigint
                            offset :7::bigint
                          ) as page
                          left join (
                            select role_id, count(*) as permissions
                            from role_permissions
                            group by role_id
                          ) as granted on role_id = id
                          left join (
                            select scope, sum(total)::bigint as total
                            from counters
                            where subject = 'users of role'
                            group by scope
                          ) as counted on scope = id
                        order by key asc, id asc
                      ) as item
                  ),
                  -- a materialized page keeps its order, so the window functions follow it
                  measured as (
                    select
                      *,
                      row_number() over () as position,
                      sum(octet_length(record) + 1) over (rows unbounded preceding) as bytes
                    from page
                  ),
                  result as (
                    select
                      count(*) as count,
                      string_agg(record, ',' order by position) as text,
                      case
                        when count(*) < (select count(*) from page)
                        or count(*) = :8::bigint then (array_agg(id order by position desc)) [1]
                      end as next_id
                    from measured
                    where bytes <= 720000 or position = 1
                  )
                select *, 0::bigint as max, (select cast(key as text) from found where id = next_id) as next_key
                from result
              ) as result
            where caller.status = 200
            offset 0
          ) as result on true
      ) as result
    offset 0
  ) as result
  left join lateral generate_series(0, least((octet_length(bytes) - 1) / 45000, 15)) as chunk on true;
-- :1 = '096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d'
-- :2 = 'view-roles'
-- :3 = 401
-- :4 = '77'
-- :5 = 77
-- :6 = 2000
-- :7 = 0
-- :8 = 2000
