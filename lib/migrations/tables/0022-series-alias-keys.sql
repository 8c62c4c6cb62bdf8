-- As for contributors.
alter table series add column alias_keys text not null default '' collate "C";

comment on column series.alias_keys is 'Keys of the aliases, a line each; kept by triggers';
