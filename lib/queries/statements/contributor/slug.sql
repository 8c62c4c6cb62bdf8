-- GET /contributor/slug/{slug}
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
                  first_name,
                  coalesce(last_name, '') as last_name,
                  slug,
                  :1::text || '/' || image as image,
                  gender,
                  array(
                    select row_to_json(record)
                    from
                      (
                        select url, domain
                        from contributor_links
                        where contributor_id = contributors.id
                        order by position
                      ) as record
                  ) as links,
                  array(
                    select row_to_json(record)
                    from
                      (
                        select id, description, language, source
                        from contributor_descriptions
                        where contributor_id = contributors.id
                        order by id
                      ) as record
                  ) as descriptions,
                  array(
                    select row_to_json(record)
                    from
                      (
                        select id, name
                        from contributor_aliases
                        where contributor_id = contributors.id
                        order by id
                      ) as record
                  ) as aliases,
                  relations
              ) as record
          ) as body,
          concat_ws(',', 'contributor-' || id, related_tags) as tags,
          nullif(slug, requested) as current_slug
        from
          (select :2::text as requested) as request
          join contributors on id = coalesce(
            (select id from contributors where slug = requested),
            (select contributor_id from former_slugs where slug = requested)
          )
          cross join lateral (
            select
              coalesce(
                array_agg(row_to_json(record) order by relation.id) filter (where related.public),
                '{}'
              ) as relations,
              string_agg(
                case when related.public then 'contributor-' || related.id else 'contributors' end,
                ','
              ) as related_tags
            from
              contributor_relations as relation
              join contributors as related on related.id = relation.relation_id
              cross join lateral (
                select
                  relation.id,
                  related.id as relation_id,
                  relation.relation_type,
                  concat_ws(' ', related.first_name, related.last_name) as name,
                  related.first_name,
                  coalesce(related.last_name, '') as last_name,
                  related.slug
              ) as record
            where relation.contributor_id = contributors.id
          ) as relations
        where public
      ) as record
    offset 0
  ) as result;
-- :1 = 'http://localhost:3000/images'
-- :2 = 'naoki-urasawa'
