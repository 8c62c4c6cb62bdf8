-- What searches compare, as for the names of series.
alter table series_aliases
  add column name_key text not null generated always as (name_key(name)) stored collate "C";
