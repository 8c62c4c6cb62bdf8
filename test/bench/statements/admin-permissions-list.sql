select
  (select count(*) from permissions) as max,
  (
    select string_agg(cast(row_to_json(record) as text), ',')
    from (select id, name, description from permissions order by id) as record
  ) as records
from caller
