select
  (select sum(tally) from tallies where subject = 'publishers' and scope = 0) as max,
  string_agg(cast(row_to_json(record) as text), ',') as records
from (
  select
    id, name, coalesce(short_name, '') as "short-name", slug, coalesce(country, '') as country,
    coalesce(website, '') as website, coalesce(headquarter, '') as headquarter,
    (select count(*) from series_publishers where publisher_id = publishers.id) as series_count,
    coalesce(cast(founding_date as text), '') as founding_date, coalesce(:images || '/' || image, '') as image,
    coalesce(image_source, '') as image_source
  from publishers
  order by id
  limit :limit
) as record
