-- GET /publishers
select octet_length(text), case when octet_length(text) <= 60000 then text end, 200, null::bigint, max, count
from
  (
    with found as not materialized (select *, name_key as key from publishers where true and true)
    select
      (select coalesce(sum(total), 0)::bigint from counters where subject = :1::text and scope in (0)) as max,
      count(*) as count,
      string_agg(cast(row_to_json(item) as text), ',') as text
    from
      (
        select
          id,
          name,
          coalesce(short_name, '') as "short-name",
          slug,
          coalesce(country, '') as country,
          coalesce(website, '') as website,
          coalesce(headquarter, '') as headquarter,
          (select count(*) from series_publishers where publisher_id = page.id) as series_count,
          coalesce(founding_date, '') as founding_date,
          coalesce(:2::text || '/' || image, '') as image,
          coalesce(image_source, '') as image_source
        from (select * from found where true order by key asc, id asc limit :3::bigint offset :4::bigint) as page
        order by key asc, id asc
      ) as item
  ) as result;
-- :1 = 'publishers'
-- :2 = 'http://localhost:3000/images'
-- :3 = 20
-- :4 = 0

-- A search
select octet_length(text), case when octet_length(text) <= 60000 then text end, 200, null::bigint, max, count
from
  (
    with
      found as materialized (
        select *, name_key as key
        from publishers
        where
          true
          and grams (publishers.search_keys) @> (select searched_grams (:1::text))
          and coalesce(publishers.search_keys like all (cast((select searched_patterns (:2::text)) as text[])), false)
      )
    select
      (select count(*) from found) as max,
      count(*) as count,
      string_agg(cast(row_to_json(item) as text), ',') as text
    from
      (
        select
          id,
          name,
          coalesce(short_name, '') as "short-name",
          slug,
          coalesce(country, '') as country,
          coalesce(website, '') as website,
          coalesce(headquarter, '') as headquarter,
          (select count(*) from series_publishers where publisher_id = page.id) as series_count,
          coalesce(founding_date, '') as founding_date,
          coalesce(:3::text || '/' || image, '') as image,
          coalesce(image_source, '') as image_source
        from (select * from found where true order by key asc, id asc limit :4::bigint offset :5::bigint) as page
        order by key asc, id asc
      ) as item
  ) as result;
-- :1 = 'Takahashi'
-- :2 = 'Takahashi'
-- :3 = 'http://localhost:3000/images'
-- :4 = 20
-- :5 = 0

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
          found as not materialized (select *, name_key as key from publishers where true and true),
          page as materialized (
            select id, cast(row_to_json(item) as text) as record
            from
              (
                select
                  id,
                  name,
                  coalesce(short_name, '') as "short-name",
                  slug,
                  coalesce(country, '') as country,
                  coalesce(website, '') as website,
                  coalesce(headquarter, '') as headquarter,
                  (select count(*) from series_publishers where publisher_id = page.id) as series_count,
                  coalesce(founding_date, '') as founding_date,
                  coalesce(:1::text || '/' || image, '') as image,
                  coalesce(image_source, '') as image_source
                from
                  (
                    select *
                    from found
                    where (key, id) > (:2::text, :3::bigint)
                    order by key asc, id asc
                    limit :4::bigint
                    offset :5::bigint
                  ) as page
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
                or count(*) = :6::bigint then (array_agg(id order by position desc)) [1]
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
-- :4 = 2000
-- :5 = 0
-- :6 = 2000
