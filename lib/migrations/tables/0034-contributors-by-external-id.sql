-- slow: 1 hour
create unique index concurrently if not exists contributors_external_id_key on contributors (external_id)
  where external_id is not null;
