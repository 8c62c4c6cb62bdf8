-- Cache tags of what the edge may still have as it was before. A transaction adds rows of its own and changes no other
-- ones, so no two writers meet here.
create table stale_tags (
  transaction xid8 not null default pg_current_xact_id(),
  tag text not null,
  added_at timestamptz not null default now(),
  primary key (transaction, tag)
);

-- How many paths were invalidated on each day (in UTC), since they are paid for one by one.
create table invalidations (
  day date primary key,
  paths bigint not null,
  last_at timestamptz not null
);

-- Which run of `ops-invalidate` works: one at a time, so that no tag is paid for twice. It has the row for some seconds,
-- and extends them while it works.
create table invalidation_lease (
  single boolean primary key default true check (single),
  run text not null,
  until timestamptz not null
);
