-- GET /publisher/publications/{id}
select octet_length(text), case when octet_length(text) <= 60000 then text end, 200, null::bigint, max, count
from
  (
    with
      found as materialized (
        select series.id, series.id as key, series.name, series.slug, series.type, series.origin
        from
          publishers as maker
          join series_publishers as link on link.publisher_id = maker.id
          join series on series.id = link.series_id
        where maker.id = :1::bigint and maker.scope in (0, :2::bigint) and series.scope in (0, :3::bigint) and true
      )
    select
      (select count(*) from found) as max,
      count(*) as count,
      replace(string_agg(cast(row_to_json(item) as text), ','), ',"volume":null}', '}') as text
    from
      (
        select
          id,
          name,
          slug,
          type,
          origin,
          coalesce(
            (
              select name
              from series_aliases
              where
                series_id = series.id
                and array_position(string_to_array(name_key (:4::text), '|'), name_key (language)) is not null
              order by array_position(string_to_array(name_key (:5::text), '|'), name_key (language)), id
              limit 1
            ),
            name
          ) as alias,
          array(
            select row_to_json(record)
            from (select id, name, language from series_aliases where series_id = series.id order by id) as record
          ) as aliases,
          coalesce(
            (
              select description
              from series_descriptions
              where series_id = series.id and true
              order by array_position(string_to_array(name_key (:6::text), '|'), name_key (language)), id
              limit 1
            ),
            ''
          ) as description,
          array(
            select row_to_json(record)
            from
              (
                select tag.id, tag.name
                from
                  series_tags
                  cross join lateral (select id, name from tags where id >= tag_id order by id limit 1) as tag
                where series_tags.series_id = series.id
                order by name_key (tag.name), tag.id
              ) as record
          ) as tags,
          (
            select
              (
                select row_to_json(record)
                from
                  (
                    select volumes.id, coalesce(:7::text || '/' || cover, '') as cover_path, aspect_ratio, nsfw, nsfw18
                  ) as record
              )
            from volumes
            where series_id = series.id
            order by cover is null, number
            limit 1
          ) as volume
        from (select * from found where true order by key desc, id desc limit :8::bigint offset :9::bigint) as series
        order by key desc, id desc
      ) as item
  ) as result;
-- :1 = 1
-- :2 = 1
-- :3 = 1
-- :4 = 'German|English|American English'
-- :5 = 'German|English|American English'
-- :6 = 'German|English|American English'
-- :7 = 'http://localhost:3000/images'
-- :8 = 20
-- :9 = 0

-- A search
select octet_length(text), case when octet_length(text) <= 60000 then text end, 200, null::bigint, max, count
from
  (
    with
      found as materialized (
        select series.id, series.id as key, series.name, series.slug, series.type, series.origin
        from
          publishers as maker
          join series_publishers as link on link.publisher_id = maker.id
          join series on series.id = link.series_id
        where
          maker.id = :1::bigint
          and maker.scope in (0, :2::bigint)
          and series.scope in (0, :3::bigint)
          and grams (coalesce(series.short_search_keys, series.long_search_keys)) @> (select searched_grams (:4::text))
          and coalesce(
            coalesce(series.short_search_keys, series.long_search_keys) like all (
              cast((select searched_patterns (:5::text)) as text[])
            ),
            false
          )
      )
    select
      (select count(*) from found) as max,
      count(*) as count,
      replace(string_agg(cast(row_to_json(item) as text), ','), ',"volume":null}', '}') as text
    from
      (
        select
          id,
          name,
          slug,
          type,
          origin,
          coalesce(
            (
              select name
              from series_aliases
              where
                series_id = series.id
                and array_position(string_to_array(name_key (:6::text), '|'), name_key (language)) is not null
              order by array_position(string_to_array(name_key (:7::text), '|'), name_key (language)), id
              limit 1
            ),
            name
          ) as alias,
          array(
            select row_to_json(record)
            from (select id, name, language from series_aliases where series_id = series.id order by id) as record
          ) as aliases,
          coalesce(
            (
              select description
              from series_descriptions
              where series_id = series.id and true
              order by array_position(string_to_array(name_key (:8::text), '|'), name_key (language)), id
              limit 1
            ),
            ''
          ) as description,
          array(
            select row_to_json(record)
            from
              (
                select tag.id, tag.name
                from
                  series_tags
                  cross join lateral (select id, name from tags where id >= tag_id order by id limit 1) as tag
                where series_tags.series_id = series.id
                order by name_key (tag.name), tag.id
              ) as record
          ) as tags,
          (
            select
              (
                select row_to_json(record)
                from
                  (
                    select volumes.id, coalesce(:9::text || '/' || cover, '') as cover_path, aspect_ratio, nsfw, nsfw18
                  ) as record
              )
            from volumes
            where series_id = series.id
            order by cover is null, number
            limit 1
          ) as volume
        from (select * from found where true order by key desc, id desc limit :10::bigint offset :11::bigint) as series
        order by key desc, id desc
      ) as item
  ) as result;
-- :1 = 1
-- :2 = 1
-- :3 = 1
-- :4 = 'Takahashi'
-- :5 = 'Takahashi'
-- :6 = 'German|English|American English'
-- :7 = 'German|English|American English'
-- :8 = 'German|English|American English'
-- :9 = 'http://localhost:3000/images'
-- :10 = 20
-- :11 = 0

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
          found as materialized (
            select series.id, series.id as key, series.name, series.slug, series.type, series.origin
            from
              publishers as maker
              join series_publishers as link on link.publisher_id = maker.id
              join series on series.id = link.series_id
            where maker.id = :1::bigint and maker.scope in (0, :2::bigint) and series.scope in (0, :3::bigint) and true
          ),
          page as materialized (
            select id, replace(cast(row_to_json(item) as text), ',"volume":null}', '}') as record
            from
              (
                select
                  id,
                  name,
                  slug,
                  type,
                  origin,
                  coalesce(
                    (
                      select name
                      from series_aliases
                      where
                        series_id = series.id
                        and array_position(string_to_array(name_key (:4::text), '|'), name_key (language)) is not null
                      order by array_position(string_to_array(name_key (:5::text), '|'), name_key (language)), id
                      limit 1
                    ),
                    name
                  ) as alias,
                  array(
                    select row_to_json(record)
                    from
                      (select id, name, language from series_aliases where series_id = series.id order by id) as record
                  ) as aliases,
                  coalesce(
                    (
                      select description
                      from series_descriptions
                      where series_id = series.id and true
                      order by array_position(string_to_array(name_key (:6::text), '|'), name_key (language)), id
                      limit 1
                    ),
                    ''
                  ) as description,
                  array(
                    select row_to_json(record)
                    from
                      (
                        select tag.id, tag.name
                        from
                          series_tags
                          cross join lateral (select id, name from tags where id >= tag_id order by id limit 1) as tag
                        where series_tags.series_id = series.id
                        order by name_key (tag.name), tag.id
                      ) as record
                  ) as tags,
                  (
                    select
                      (
                        select row_to_json(record)
                        from
                          (
                            select
                              volumes.id,
                              coalesce(:7::text || '/' || cover, '') as cover_path,
                              aspect_ratio,
                              nsfw,
                              nsfw18
                          ) as record
                      )
                    from volumes
                    where series_id = series.id
                    order by cover is null, number
                    limit 1
                  ) as volume
                from
                  (
                    select *
                    from found
                    where (key, id) < (:8::bigint, :9::bigint)
                    order by key desc, id desc
                    limit :10::bigint
                    offset :11::bigint
                  ) as series
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
                or count(*) = :12::bigint then (array_agg(id order by position desc)) [1]
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
-- :1 = 1
-- :2 = 1
-- :3 = 1
-- :4 = 'German|English|American English'
-- :5 = 'German|English|American English'
-- :6 = 'German|English|American English'
-- :7 = 'http://localhost:3000/images'
-- :8 = '77'
-- :9 = 77
-- :10 = 2000
-- :11 = 0
-- :12 = 2000
