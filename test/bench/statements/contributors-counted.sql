select
  (select count(*) from contributors where scope in (0, :client) and public) as max,
  string_agg(
    left(cast(row_to_json(record) as text), -1)
      || coalesce(
        ',"random_series":' || (
          select row_to_json(series) from (select name, slug from series where id = random_series) as series
        ),
        ''
      )
      || '}',
    ','
  ) as records
from (
  select
    works.ids[1 + floor(works.lot * cardinality(works.ids))::int] as random_series,
    (
      select record
      from (
        select
          page.id, first_name, coalesce(last_name, '') as last_name, :images || '/' || image as image, gender,
          cardinality(works.ids) as series_count
      ) as record
    ) as record
  from
    (
      select *
      from (
        (
          select * from contributors
          where scope = 0 and public
          order by name_key, id
          limit :limit
        )
        union all
        (
          select * from contributors
          where scope = :client and public
          order by name_key, id
          limit :limit
        )
      ) as either
      order by name_key, id
      limit :limit
    ) as page
    cross join lateral (
      select random() as lot, array(
        select series.id
        from series_contributors as link join series on series.id = link.series_id
        where link.contributor_id = page.id and series.scope in (0, :client)
      ) as ids
      offset 0
    ) as works
  order by name_key, page.id
) as records
