-- GET /admin-users
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
            with found as not materialized (select id, registered as key from users where true)
            select
              (select coalesce(sum(total), 0)::bigint from counters where subject = :4::text and scope in (0)) as max,
              count(*) as count,
              string_agg(cast(row_to_json(item) as text), ',') as text
            from
              (
                select
                  id,
                  slug,
                  username,
                  age_verified,
                  coalesce(:5::text || '/' || image, '') as profile_image,
                  to_char(registered at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as registered,
                  array(
                    select row_to_json(record)
                    from
                      (
                        select roles.id, name, coalesce(description, '') as description
                        from user_roles as assigned join roles on roles.id = assigned.role_id
                        where assigned.user_id = users.id
                        order by roles.id
                      ) as record
                  ) as roles,
                  (
                    select (select row_to_json(record) from (select editor.id, editor.username) as record)
                    from user_locks as
                    lock
                    join users as editor on editor.id = lock.editor_id
                    where lock.user_id = users.id and lock.expires_at > now() and lock.editor_id <> caller.id
                  ) as
                lock
                from
                  (select * from found where true order by key desc, id desc limit :6::bigint offset :7::bigint) as page
                  join users using (id)
                order by key desc, id desc
              ) as item
          ) as result
        where caller.status = 200
        offset 0
      ) as result on true
  ) as result;
-- :1 = '096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d'
-- :2 = 'view-users'
-- :3 = 401
-- :4 = 'users'
-- :5 = 'http://localhost:3000/images'
-- :6 = 10
-- :7 = 0

-- A search
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
              found as not materialized (
                select id, registered as key
                from users
                where
                  coalesce(users.search_keys like all (cast((select searched_patterns (:4::text)) as text[])), false)
              ),
              total as (select (select count(*) from found) as max)
            select
              (select max from total) as max,
              count(*) as count,
              string_agg(cast(row_to_json(item) as text), ',') as text
            from
              (
                select
                  id,
                  slug,
                  username,
                  age_verified,
                  coalesce(:5::text || '/' || image, '') as profile_image,
                  to_char(registered at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as registered,
                  array(
                    select row_to_json(record)
                    from
                      (
                        select roles.id, name, coalesce(description, '') as description
                        from user_roles as assigned join roles on roles.id = assigned.role_id
                        where assigned.user_id = users.id
                        order by roles.id
                      ) as record
                  ) as roles,
                  (
                    select (select row_to_json(record) from (select editor.id, editor.username) as record)
                    from user_locks as
                    lock
                    join users as editor on editor.id = lock.editor_id
                    where lock.user_id = users.id and lock.expires_at > now() and lock.editor_id <> caller.id
                  ) as
                lock
                from
                  (select * from found where true order by key desc, id desc limit :6::bigint offset :7::bigint) as page
                  join users using (id)
                order by key desc, id desc
              ) as item
            where (select max from total) > 0
          ) as result
        where caller.status = 200
        offset 0
      ) as result on true
  ) as result;
-- :1 = '096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d'
-- :2 = 'view-users'
-- :3 = 401
-- :4 = 'e'
-- :5 = 'http://localhost:3000/images'
-- :6 = 10
-- :7 = 0

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
                  found as not materialized (select id, registered as key from users where true),
                  page as materialized (
                    select id, cast(row_to_json(item) as text) as record
                    from
                      (
                        select
                          id,
                          slug,
                          username,
                          age_verified,
                          coalesce(:4::text || '/' || image, '') as profile_image,
                          to_char(registered at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as registered,
                          array(
                            select row_to_json(record)
                            from
                              (
                                select roles.id, name, coalesce(description, '') as description
                                from user_roles as assigned join roles on roles.id = assigned.role_id
                                where assigned.user_id = users.id
                                order by roles.id
                              ) as record
                          ) as roles,
                          (
                            select (select row_to_json(record) from (select editor.id, editor.username) as record)
                            from user_locks as
                            lock
                            join users as editor on editor.id = lock.editor_id
                            where lock.user_id = users.id and lock.expires_at > now() and lock.editor_id <> caller.id
                          ) as
                        lock
                        from
                          (
                            select *
                            from found
                            where (key, id) < (:5::timestamptz, :6::bigint)
                            order by key desc, id desc
                            limit :7::bigint
                            offset :8::bigint
                          ) as page
                          join users using (id)
                        order by key desc, id desc
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
                        or count(*) = :9::bigint then (array_agg(id order by position desc)) [1]
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
-- :2 = 'view-users'
-- :3 = 401
-- :4 = 'http://localhost:3000/images'
-- :5 = '77'
-- :6 = 77
-- :7 = 2000
-- :8 = 0
-- :9 = 2000
