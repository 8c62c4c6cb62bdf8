-- GET /admin-contributors
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
            with found as not materialized (select id, scope, name_key as key from contributors where true)
            select
              (
                select coalesce(sum(total), 0)::bigint
                from counters
                where subject = :4::text and scope in (0, :5::bigint)
              ) as max,
              count(*) as count,
              replace(string_agg(cast(row_to_json(item) as text), ','), ',"locked_by":null}', '}') as text
            from
              (
                select
                  id,
                  first_name,
                  coalesce(last_name, '') as last_name,
                  slug,
                  coalesce(:6::text || '/' || image, '') as image,
                  (
                    select (select row_to_json(record) from (select editor.id, editor.username) as record)
                    from contributor_locks as
                    lock
                    join users as editor on editor.id = lock.editor_id
                    where
                      lock.contributor_id = contributors.id
                      and lock.expires_at > now()
                      and lock.editor_id <> caller.id
                  ) as locked_by
                from
                  (
                    select *
                    from
                      (
                        (select id, key from found where scope = 0 and true order by key asc, id asc limit 100)
                        union all
                        (select id, key from found where scope = :7::bigint and true order by key asc, id asc limit 100)
                      ) as scopes
                    order by key asc, id asc
                    limit :8::bigint
                    offset :9::bigint
                  ) as page
                  join contributors using (id)
                order by key asc, id asc
              ) as item
          ) as result
        where caller.status = 200
        offset 0
      ) as result on true
  ) as result;
-- :1 = '096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d'
-- :2 = 'view-contributors'
-- :3 = 401
-- :4 = 'contributors'
-- :5 = 1
-- :6 = 'http://localhost:3000/images'
-- :7 = 1
-- :8 = 50
-- :9 = 0

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
              found as materialized (
                select id, scope, name_key as key
                from contributors
                where
                  scope in (0, :4::bigint)
                  and grams (
                    coalesce(contributors.short_search_keys, contributors.long_search_keys)
                  ) @> (select searched_grams (:5::text))
                  and coalesce(
                    coalesce(
                      contributors.short_search_keys,
                      contributors.long_search_keys
                    ) like all (cast((select searched_patterns (:6::text)) as text[])),
                    false
                  )
              )
            select
              (select count(*) from found) as max,
              count(*) as count,
              replace(string_agg(cast(row_to_json(item) as text), ','), ',"locked_by":null}', '}') as text
            from
              (
                select
                  id,
                  first_name,
                  coalesce(last_name, '') as last_name,
                  slug,
                  coalesce(:7::text || '/' || image, '') as image,
                  (
                    select (select row_to_json(record) from (select editor.id, editor.username) as record)
                    from contributor_locks as
                    lock
                    join users as editor on editor.id = lock.editor_id
                    where
                      lock.contributor_id = contributors.id
                      and lock.expires_at > now()
                      and lock.editor_id <> caller.id
                  ) as locked_by
                from
                  (
                    select *
                    from (select id, key from found where true) as candidates
                    order by key asc, id asc
                    limit :8::bigint
                    offset :9::bigint
                  ) as page
                  join contributors using (id)
                order by key asc, id asc
              ) as item
          ) as result
        where caller.status = 200
        offset 0
      ) as result on true
  ) as result;
-- :1 = '096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d'
-- :2 = 'view-contributors'
-- :3 = 401
-- :4 = 1
-- :5 = 'Takahashi'
-- :6 = 'Takahashi'
-- :7 = 'http://localhost:3000/images'
-- :8 = 50
-- :9 = 0

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
                  found as not materialized (select id, scope, name_key as key from contributors where true),
                  page as materialized (
                    select id, replace(cast(row_to_json(item) as text), ',"locked_by":null}', '}') as record
                    from
                      (
                        select
                          id,
                          first_name,
                          coalesce(last_name, '') as last_name,
                          slug,
                          coalesce(:4::text || '/' || image, '') as image,
                          (
                            select (select row_to_json(record) from (select editor.id, editor.username) as record)
                            from contributor_locks as
                            lock
                            join users as editor on editor.id = lock.editor_id
                            where
                              lock.contributor_id = contributors.id
                              and lock.expires_at > now()
                              and lock.editor_id <> caller.id
                          ) as locked_by
                        from
                          (
                            select *
                            from
                              (
                                (
                                  select id, key
                                  from found
                                  where scope = 0 and (key, id) > (:5::text, :6::bigint)
                                  order by key asc, id asc
                                  limit 2000
                                )
                                union all
                                (
                                  select id, key
                                  from found
                                  where scope = :7::bigint and (key, id) > (:8::text, :9::bigint)
                                  order by key asc, id asc
                                  limit 2000
                                )
                              ) as scopes
                            order by key asc, id asc
                            limit :10::bigint
                            offset :11::bigint
                          ) as page
                          join contributors using (id)
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
                        or count(*) = :12::bigint then (array_agg(id order by position desc)) [1]
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
-- :2 = 'view-contributors'
-- :3 = 401
-- :4 = 'http://localhost:3000/images'
-- :5 = '77'
-- :6 = 77
-- :7 = 1
-- :8 = '77'
-- :9 = 77
-- :10 = 2000
-- :11 = 0
-- :12 = 2000
