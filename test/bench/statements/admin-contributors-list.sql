select
  (select sum(tally) from tallies where subject = 'contributors' and scope in (0, :client)) as max,
  (
    select string_agg(
      left(cast(row_to_json(record) as text), -1)
        || coalesce(
          ',"locked_by":' || (
            select row_to_json(holder)
            from (
              select users.id, username
              from contributor_locks join users on users.id = holder_id
              where contributor_id = record.id and expires_at > now() and holder_id <> caller.id
            ) as holder
          ),
          ''
        )
        || '}',
      ','
    )
    from (
      select
        id, first_name, coalesce(last_name, '') as last_name, slug, coalesce(:images || '/' || image, '') as image
      from (
      select *
      from (
        (
          select * from contributors
          where scope = 0
          order by name_key, id
          limit :limit
        )
        union all
        (
          select * from contributors
          where scope = :client
          order by name_key, id
          limit :limit
        )
      ) as either
      order by name_key, id
      limit :limit
      ) as page
    ) as record
  ) as records
from caller
