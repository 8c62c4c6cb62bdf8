-- slow: 1 hour
create unique index concurrently if not exists publishers_external_id_key on publishers (external_id)
  where external_id is not null;
