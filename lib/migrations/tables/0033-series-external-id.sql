alter table series add column external_id text;
