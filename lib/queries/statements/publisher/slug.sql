-- GET /publisher/slug/{slug}
select
  octet_length(text),
  case
    when octet_length(text) <= 60000 then text
  end,
  tags
from
  (
    select
      cast(body as text) as text,
      tags
    from
      (
        select
          (
            select
              row_to_json(record)
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
                    select
                      row_to_json(record)
                    from
                      (
                        select
                          id,
                          description,
                          language,
                          source
                        from
                          publisher_descriptions
                        where
                          publisher_id = publishers.id
                        order by
                          id
                      ) as record
                  ) as descriptions,
                  array(
                    select
                      row_to_json(record)
                    from
                      (
                        select
                          id,
                          title,
                          language
                        from
                          publisher_aliases
                        where
                          publisher_id = publishers.id
                        order by
                          id
                      ) as record
                  ) as aliases,
                  array(
                    select
                      row_to_json(record)
                    from
                      (
                        select
                          relation.id,
                          related.id as relation_id,
                          relation.type,
                          related.name,
                          coalesce(:2::text || '/' || related.image, '') as image,
                          related.slug
                        from
                          publisher_relations as relation
                          join publishers as related on related.id = relation.relation_id
                        where
                          relation.publisher_id = publishers.id
                        order by
                          relation.id
                      ) as record
                  ) as relations
              ) as record
          ) as body,
          (
            select
              concat_ws(
                ',',
                'publisher-' || publishers.id,
                case
                  when bool_and(related.public)
                  and count(distinct related.id) < 50 then string_agg(distinct 'publisher-' || related.id, ',')
                  when count(*) > 0 then 'publishers'
                end
              )
            from
              (
                select
                  relation_id as id,
                  true as public
                from
                  publisher_relations
                where
                  publisher_id = publishers.id
              ) as related
            where
              related.id <> publishers.id
          ) as tags
        from
          publishers
        where
          slug = :3::text
      ) as record
    offset
      0
  ) as result;
-- :1 = 'http://localhost:3000/images'
-- :2 = 'http://localhost:3000/images'
-- :3 = 'kodansha'
