-- GET /series/random
select octet_length(text), case when octet_length(text) <= 60000 then text end, 200, null::bigint, tags, current_slug
from
  (
    select cast(body as text) as text, tags, current_slug
    from
      (
        select to_json(slug) as body, null::text as tags, null::text as current_slug
        from
          (
            select slug
            from
              (select random() as start offset 0) as point
              cross join lateral (values (0, start, 1), (1, 0, start)) as laps (lap, first, last)
              cross join (values (0::bigint), (:1::bigint)) as scopes (scope)
              cross join lateral (
                select slug, random_key
                from series as nearby
                where nearby.scope = scopes.scope and random_key >= first and random_key < last and true
                order by random_key
                limit 16
              ) as nearby
            order by lap, random_key
            limit 16
          ) as candidates
        order by random()
        limit 1
      ) as record
    offset 0
  ) as result;
-- :1 = 1
