-- GET /admin-contributors/id/{id}
select octet_length(text), case when octet_length(text) <= 60000 then text end, status, caller_id, version, warning
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
            select cast(body as text) as text, version, warning
            from
              (
                select
                  version,
                  warning,
                  (
                    select row_to_json(record)
                    from
                      (
                        select
                          id,
                          first_name,
                          coalesce(last_name, '') as last_name,
                          slug,
                          coalesce(:4::text || '/' || image, '') as image,
                          coalesce(gender, '') as gender,
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
                                select id, name
                                from contributor_aliases
                                where contributor_id = contributors.id
                                order by id
                              ) as record
                          ) as aliases,
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
                                select
                                  relation.id,
                                  related.id as relation_id,
                                  relation.relation_type,
                                  concat_ws(' ', related.first_name, related.last_name) as name,
                                  related.first_name,
                                  coalesce(related.last_name, '') as last_name,
                                  related.slug
                                from
                                  contributor_relations as relation
                                  join contributors as related on related.id = relation.relation_id
                                where relation.contributor_id = contributors.id
                                order by relation.id
                              ) as record
                          ) as relations
                      ) as record
                  ) as body
                from
                  contributors,
                  lateral release.open_record (session.digest, :5::text, contributors.id) as opened
                where id = :6::bigint and still_exists
              ) as record
            offset 0
          ) as result
        where caller.status = 200
        offset 0
      ) as result on true
  ) as result;
-- :1 = '096ad849ca1e403c61c3eb539b16574b5d8039f9c3c521d70152d795e6ff431d'
-- :2 = 'view-contributors'
-- :3 = 401
-- :4 = 'http://localhost:3000/images'
-- :5 = 'contributor'
-- :6 = 5
