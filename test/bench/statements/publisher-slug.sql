select row_to_json(record) as body
from (
  select
    id, name, slug, coalesce(:images || '/' || image, '') as image, coalesce(website, '') as website,
    coalesce(domain, '') as domain, coalesce(country, '') as country,
    array(
      select row_to_json(item)
      from (
        select id, description, language, source
        from publisher_descriptions
        where publisher_id = publishers.id
        order by id
      ) as item
    ) as descriptions,
    array(
      select row_to_json(alias)
      from (select id, title, language from publisher_aliases where publisher_id = publishers.id order by id) as alias
    ) as aliases,
    array(
      select row_to_json(relation)
      from (
        select
          relation.id, related.id as relation_id, relation.type, related.name,
          coalesce(:images || '/' || related.image, '') as image, related.slug
        from publisher_relations as relation join publishers as related on related.id = relation_id
        where publisher_id = publishers.id
        order by relation.id
      ) as relation
    ) as relations
  from publishers
  where slug = :slug
) as record
