select
  (select row_to_json(record) from (select permissions.id, name, description) as record) as body,
  version
from caller cross join permissions
where permissions.id = :id
