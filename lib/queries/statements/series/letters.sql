-- GET /series/letters
select octet_length(text), case when octet_length(text) <= 60000 then text end, 200, null::bigint, tags, current_slug
from
  (
    select cast(body as text) as text, tags, current_slug
    from
      (
        select
          to_json(
            array(
              select row_to_json(record)
              from
                (
                  select right(subject, 1) as letter, sum(total)::bigint as count
                  from counters
                  where subject like concat(:1::text, ' _') and scope in (0, :2::bigint)
                  group by subject
                  having sum(total) > 0
                  order by right(subject, 1) collate "C"
                ) as record
            )
          ) as body,
          :3::text as tags,
          null::text as current_slug
      ) as record
    offset 0
  ) as result;
-- :1 = 'series'
-- :2 = 1
-- :3 = 'series'
