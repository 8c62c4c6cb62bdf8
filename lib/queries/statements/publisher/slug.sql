-- GET /publisher/slug/{slug}
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
                  coalesce(:1::text || '/' || image, '') as image,
                  coalesce(website, '') as website,
                  coalesce(domain, '') as domain,
                  coalesce(country, '') as country,
                  array(
                    select row_to_json(record)
                    from
                      (
                        select id, description, language, source
                        from publisher_descriptions
                        where publisher_id = publishers.id
                        order by id
                      ) as record
                  ) as descriptions,
                  array(
                    select row_to_json(record)
                    from
                      (
                        select id, title, language
                        from publisher_aliases
                        where publisher_id = publishers.id
                        order by id
                      ) as record
                  ) as aliases,
                  relations
              ) as record
          ) as body,
          concat_ws(',', 'publisher-' || id, related_tags) as tags,
          null::text as current_slug
        from
          publishers
          cross join lateral (
            select
              coalesce(array_agg(row_to_json(record) order by relation.id) filter (where true), '{}') as relations,
              string_agg(case when true then 'publisher-' || related.id else 'publishers' end, ',') as related_tags
            from
              publisher_relations as relation
              join publishers as related on related.id = relation.relation_id
              cross join lateral (
                select
                  relation.id,
                  related.id as relation_id,
                  relation.type,
                  related.name,
                  coalesce(:2::text || '/' || related.image, '') as image,
                  related.slug
              ) as record
            where relation.publisher_id = publishers.id
          ) as relations
        where slug = :3::text
      ) as record
    offset 0
  ) as result;
-- :1 = 'http://localhost:3000/images'
-- :2 = 'http://localhost:3000/images'
-- :3 = 'kodansha'
