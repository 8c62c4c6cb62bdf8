select
  (
    select row_to_json(record)
    from (
      select
        contributors.id, first_name, coalesce(last_name, '') as last_name, slug,
        coalesce(:images || '/' || image, '') as image,
        coalesce(gender, '') as gender,
        array(
          select row_to_json(link)
          from (
            select url, domain from contributor_links where contributor_id = contributors.id order by position
          ) as link
        ) as links,
        array(
          select row_to_json(alias)
          from (select id, name from contributor_aliases where contributor_id = contributors.id order by id) as alias
        ) as aliases,
        array(
          select row_to_json(item)
          from (
            select id, description, language, source
            from contributor_descriptions
            where contributor_id = contributors.id
            order by id
          ) as item
        ) as descriptions,
        array(
          select row_to_json(relation)
          from (
            select
              relation.id, related.id as relation_id, relation_type,
              concat_ws(' ', related.first_name, related.last_name) as name,
              related.first_name, coalesce(related.last_name, '') as last_name, related.slug
            from contributor_relations as relation join contributors as related on related.id = relation_id
            where contributor_id = contributors.id
            order by relation.id
          ) as relation
        ) as relations
    ) as record
  ) as body,
  version
from caller cross join contributors cross join lateral release.open_record(:digest, 'contributor', contributors.id) as opened
where contributors.id = :id and opened.still_exists
