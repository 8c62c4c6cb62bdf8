-- An operator's change may concern many records, and may take back other changes (lib/changes/README.md, "Effects").
alter table changes
  add column records text[],
  add column undoes bigint[],
  add column undone_by bigint;

comment on column changes.records is 'Of an operator''s change each record that it changed, as contributor/5; null: that of record_id';

comment on column changes.undoes is 'The changes that this one took back';

comment on column changes.undone_by is 'The change that took this one back, unless that was taken back itself';

create index changes_by_records on changes using gin (records) where records is not null;
