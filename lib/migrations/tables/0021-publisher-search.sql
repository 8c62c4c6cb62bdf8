-- As for contributors. Publishers are few, so this takes a moment.
alter table publishers add column alias_keys text not null default '' collate "C";

comment on column publishers.alias_keys is 'Keys of the aliases, a line each; kept by triggers';

create trigger keep_alias_keys_added after insert on publisher_aliases
  referencing new table as added
  for each statement execute function keep_alias_keys('publishers', 'publisher_id', 'title');

create trigger keep_alias_keys_changed after update on publisher_aliases
  referencing old table as removed new table as added
  for each statement execute function keep_alias_keys('publishers', 'publisher_id', 'title');

create trigger keep_alias_keys_removed after delete on publisher_aliases
  referencing old table as removed
  for each statement execute function keep_alias_keys('publishers', 'publisher_id', 'title');

update publisher_aliases set title = title;

drop index publishers_by_trigram;

create index publishers_by_trigram on publishers using gin ((name_key || chr(10) || alias_keys) gin_trgm_ops);
