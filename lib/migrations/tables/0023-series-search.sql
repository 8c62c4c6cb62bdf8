-- As for contributors. The keys of series' aliases stay in their rows, too, where the previous release looks for them.
lock table series in exclusive mode;

create trigger keep_alias_keys_added after insert on series_aliases
  referencing new table as added
  for each statement execute function keep_alias_keys('series', 'series_id', 'name');

create trigger keep_alias_keys_changed after update on series_aliases
  referencing old table as removed new table as added
  for each statement execute function keep_alias_keys('series', 'series_id', 'name');

create trigger keep_alias_keys_removed after delete on series_aliases
  referencing old table as removed
  for each statement execute function keep_alias_keys('series', 'series_id', 'name');

update series_aliases set name = name where series_id % 8 = 0;

update series_aliases set name = name where series_id % 8 = 1;

update series_aliases set name = name where series_id % 8 = 2;

update series_aliases set name = name where series_id % 8 = 3;

update series_aliases set name = name where series_id % 8 = 4;

update series_aliases set name = name where series_id % 8 = 5;

update series_aliases set name = name where series_id % 8 = 6;

update series_aliases set name = name where series_id % 8 = 7;

create index series_by_trigrams on series using gin ((name_key || chr(10) || alias_keys) gin_trgm_ops);

analyze series;

drop index series_by_trigram;

alter index series_by_trigrams rename to series_by_trigram;
