-- slow: 1 hour
create unique index concurrently if not exists series_external_id_key on series (external_id)
  where external_id is not null;
