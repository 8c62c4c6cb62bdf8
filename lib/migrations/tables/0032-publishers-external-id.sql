alter table publishers add column external_id text;
