-- GET /contributors
select octet_length(text), case when octet_length(text) <= 60000 then text end, 200, null::bigint, max, count
from
  (
    with found as not materialized (select id, scope, name_key as key from contributors where public and true)
    select
      (
        select coalesce(sum(total), 0)::bigint
        from counters
        where subject = :1::text and scope in (0, :2::bigint)
      ) as max,
      count(*) as count,
      replace(string_agg(cast(row_to_json(item) as text), ','), ',"random_series":null}', '}') as text
    from
      (
        select
          id,
          first_name,
          coalesce(last_name, '') as last_name,
          :3::text || '/' || image as image,
          gender,
          cardinality(works.ids) as series_count,
          (
            select row_to_json(series)
            from
              (
                select name, slug
                from series
                where id = works.ids[1 + floor(works.random * cardinality(works.ids))::int]
              ) as series
          ) as random_series
        from
          (
            select *
            from
              (
                (select id, key from found where scope = 0 and true order by key asc, id asc limit 100)
                union all
                (select id, key from found where scope = :4::bigint and true order by key asc, id asc limit 100)
              ) as scopes
            order by key asc, id asc
            limit :5::bigint
            offset :6::bigint
          ) as page
          join contributors using (id)
          cross join lateral (
            select
              random() as random,
              array(
                select series.id
                from series_contributors as link join series on series.id = link.series_id
                where link.contributor_id = page.id and series.scope in (0, :7::bigint)
              ) as ids
            offset 0
          ) as works
        order by key asc, id asc
      ) as item
  ) as result;
-- :1 = 'public contributors'
-- :2 = 1
-- :3 = 'http://localhost:3000/images'
-- :4 = 1
-- :5 = 20
-- :6 = 0
-- :7 = 1

-- A search
select octet_length(text), case when octet_length(text) <= 60000 then text end, 200, null::bigint, max, count
from
  (
    with
      found as materialized (
        select id, scope, name_key as key
        from contributors
        where
          public
          and scope in (0, :1::bigint)
          and grams (
            coalesce(contributors.short_search_keys, contributors.long_search_keys)
          ) @> (select searched_grams (:2::text))
          and coalesce(
            coalesce(
              contributors.short_search_keys,
              contributors.long_search_keys
            ) like all (cast((select searched_patterns (:3::text)) as text[])),
            false
          )
      )
    select
      (select count(*) from found) as max,
      count(*) as count,
      replace(string_agg(cast(row_to_json(item) as text), ','), ',"random_series":null}', '}') as text
    from
      (
        select
          id,
          first_name,
          coalesce(last_name, '') as last_name,
          :4::text || '/' || image as image,
          gender,
          cardinality(works.ids) as series_count,
          (
            select row_to_json(series)
            from
              (
                select name, slug
                from series
                where id = works.ids[1 + floor(works.random * cardinality(works.ids))::int]
              ) as series
          ) as random_series
        from
          (
            select *
            from (select id, key from found where true) as candidates
            order by key asc, id asc
            limit :5::bigint
            offset :6::bigint
          ) as page
          join contributors using (id)
          cross join lateral (
            select
              random() as random,
              array(
                select series.id
                from series_contributors as link join series on series.id = link.series_id
                where link.contributor_id = page.id and series.scope in (0, :7::bigint)
              ) as ids
            offset 0
          ) as works
        order by key asc, id asc
      ) as item
  ) as result;
-- :1 = 1
-- :2 = 'Takahashi'
-- :3 = 'Takahashi'
-- :4 = 'http://localhost:3000/images'
-- :5 = 20
-- :6 = 0
-- :7 = 1

-- The next page of a list that exceeds a result of the Data API
select
  octet_length(bytes),
  chunk,
  encode(substring(bytes from 1 + 45000 * chunk for 45000), 'base64'),
  200,
  null::bigint,
  max,
  count,
  next_id,
  next_key
from
  (
    select *, convert_to(text, 'UTF8') as bytes
    from
      (
        with
          found as not materialized (select id, scope, name_key as key from contributors where public and true),
          page as materialized (
            select id, replace(cast(row_to_json(item) as text), ',"random_series":null}', '}') as record
            from
              (
                select
                  id,
                  first_name,
                  coalesce(last_name, '') as last_name,
                  :1::text || '/' || image as image,
                  gender,
                  cardinality(works.ids) as series_count,
                  (
                    select row_to_json(series)
                    from
                      (
                        select name, slug
                        from series
                        where id = works.ids[1 + floor(works.random * cardinality(works.ids))::int]
                      ) as series
                  ) as random_series
                from
                  (
                    select *
                    from
                      (
                        (
                          select id, key
                          from found
                          where scope = 0 and (key, id) > (:2::text, :3::bigint)
                          order by key asc, id asc
                          limit 2000
                        )
                        union all
                        (
                          select id, key
                          from found
                          where scope = :4::bigint and (key, id) > (:5::text, :6::bigint)
                          order by key asc, id asc
                          limit 2000
                        )
                      ) as scopes
                    order by key asc, id asc
                    limit :7::bigint
                    offset :8::bigint
                  ) as page
                  join contributors using (id)
                  cross join lateral (
                    select
                      random() as random,
                      array(
                        select series.id
                        from series_contributors as link join series on series.id = link.series_id
                        where link.contributor_id = page.id and series.scope in (0, :9::bigint)
                      ) as ids
                    offset 0
                  ) as works
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
                or count(*) = :10::bigint then (array_agg(id order by position desc)) [1]
              end as next_id
            from measured
            where bytes <= 720000 or position = 1
          )
        select *, 0::bigint as max, (select cast(key as text) from found where id = next_id) as next_key
        from result
      ) as result
    offset 0
  ) as result
  left join lateral generate_series(0, least((octet_length(bytes) - 1) / 45000, 15)) as chunk on true;
-- :1 = 'http://localhost:3000/images'
-- :2 = '77'
-- :3 = 77
-- :4 = 1
-- :5 = '77'
-- :6 = 77
-- :7 = 2000
-- :8 = 0
-- :9 = 1
-- :10 = 2000
