select to_json(slug) as body
from (
  select slug
  from
    (select random() as place offset 0) as point
    cross join lateral (
      (
        select slug, random_key, 0 as lap from publishers
        where scope = 0 and random_key >= place
        order by random_key limit 16
      )
      union all
      (
        select slug, random_key, 0 from publishers
        where scope = :client and random_key >= place
        order by random_key limit 16
      )
      union all
      (
        select slug, random_key, 1 from publishers
        where scope = 0 and random_key < place
        order by random_key limit 16
      )
      union all
      (
        select slug, random_key, 1 from publishers
        where scope = :client and random_key < place
        order by random_key limit 16
      )
    ) as nearby
  order by lap, random_key
  limit 16
) as drawn
order by random()
limit 1
