-- GET /series/slug/{slug}
select octet_length(text), case when octet_length(text) <= 60000 then text end, 200, null::bigint, tags, current_slug
from
  (
    select cast(body as text) as text, tags, current_slug
    from
      (
        select
          (
            select row_to_json(record)
            from
              (
                select
                  id,
                  name,
                  slug,
                  type,
                  origin,
                  array(
                    select row_to_json(record)
                    from
                      (select id, name, language from series_aliases where series_id = series.id order by id) as record
                  ) as aliases,
                  array(
                    select row_to_json(record)
                    from
                      (
                        select id, description, language
                        from series_descriptions
                        where series_id = series.id
                        order by id
                      ) as record
                  ) as descriptions,
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
                  array(
                    select row_to_json(record)
                    from
                      (
                        select
                          id,
                          number,
                          coalesce(:1::text || '/' || cover, '') as cover_path,
                          aspect_ratio,
                          nsfw,
                          nsfw18
                        from volumes
                        where series_id = series.id
                        order by number
                      ) as record
                  ) as volumes,
                  array(
                    select row_to_json(record)
                    from
                      (
                        select
                          contributors.id,
                          first_name,
                          coalesce(last_name, '') as last_name,
                          contributors.slug,
                          :2::text || '/' || image as image,
                          coalesce(role, '') as role
                        from series_contributors join contributors on contributors.id = contributor_id
                        where series_id = series.id and public
                        order by contributors.sort_key, contributors.id
                      ) as record
                  ) as contributors,
                  array(
                    select row_to_json(record)
                    from
                      (
                        select
                          publishers.id,
                          publishers.name,
                          publishers.slug,
                          coalesce(:3::text || '/' || image, '') as image
                        from series_publishers join publishers on publishers.id = publisher_id
                        where series_id = series.id
                        order by publishers.name_key, publishers.id
                      ) as record
                  ) as publishers
              ) as record
          ) as body,
          concat_ws(
            ',',
            'series-' || id,
            (
              select string_agg(case when public then 'contributor-' || contributor_id else 'contributors' end, ',')
              from series_contributors join contributors on contributors.id = contributor_id
              where series_id = series.id
            ),
            (select string_agg('publisher-' || publisher_id, ',') from series_publishers where series_id = series.id),
            (select string_agg('tag-' || tag_id, ',') from series_tags where series_id = series.id)
          ) as tags,
          null::text as current_slug
        from series
        where slug = :4::text
      ) as record
    offset 0
  ) as result;
-- :1 = 'http://localhost:3000/images'
-- :2 = 'http://localhost:3000/images'
-- :3 = 'http://localhost:3000/images'
-- :4 = 'astro-boy'
