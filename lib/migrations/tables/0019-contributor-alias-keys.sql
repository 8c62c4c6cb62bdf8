-- What searches compare beside the name: the aliases by their keys, a line each. The triggers of the next migration keep
-- both columns. This one ends before the table is filled, so readers wait for its lock but a moment.
alter table contributors
  add column alias_keys text not null default '' collate "C",
  add column short_alias_keys text default '' collate "C";

comment on column contributors.alias_keys is 'Keys of the aliases, a line each; kept by triggers';

comment on column contributors.short_alias_keys is 'The same where a row of an index has room for it, else null';
