-- Cache tags of what the edge may still have as it was before. A transaction adds rows of its own and changes no other
-- ones, so no two writers meet here.
create table stale_tags (
  transaction xid8 not null default pg_current_xact_id(),
  tag text not null,
  added_at timestamptz not null default now(),
  invalidated_at timestamptz,
  primary key (transaction, tag)
);

comment on column stale_tags.invalidated_at is 'When the tag was invalidated first; it is invalidated again, since responses were on their way';

-- How many paths were invalidated on each day (in UTC), since they are paid for one by one.
create table invalidations (
  day date primary key,
  paths bigint not null,
  last_at timestamptz not null
);
