with matching as materialized (
  select series.*
  from series_publishers as link
    join series on series.id = link.series_id
    join publishers on publishers.id = link.publisher_id
  where link.publisher_id = :id and publishers.scope in (0, :client) and series.scope in (0, :client)
)
select
  (select count(*) from matching) as max,
  string_agg(cast(row_to_json(record) as text), ',') as records
from (
  select
    id, name, slug, type, origin,
    coalesce(
      (
        select name from series_aliases
        where series_id = page.id and name_key(language) in (name_key(:language), 'english')
        order by name_key(language) = name_key(:language) desc, id
        limit 1
      ),
      name
    ) as alias,
    array(
      select row_to_json(alias)
      from (select id, name, language from series_aliases where series_id = page.id order by id) as alias
    ) as aliases,
    coalesce(
      (
        select description from series_descriptions
        where series_id = page.id
        order by name_key(language) = name_key(:language) desc, name_key(language) = 'english' desc, id
        limit 1
      ),
      ''
    ) as description,
    array(
      select row_to_json(tag)
      from (
        select tags.id, tags.name
        from series_tags join tags on tags.id = tag_id
        where series_id = page.id
        order by name_key(tags.name), tags.id
      ) as tag
    ) as tags,
    (
      select row_to_json(volume)
      from (
        select id, coalesce(:images || '/' || cover, '') as cover_path, aspect_ratio, nsfw, nsfw18
        from volumes
        where series_id = page.id
        order by cover is null, number
        limit 1
      ) as volume
    ) as volume
  from (select * from matching order by name_key, id limit :limit) as page
) as record
