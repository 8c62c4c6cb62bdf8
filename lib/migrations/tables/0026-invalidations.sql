-- How many paths the edge was told to forget on each day (in UTC), since they are paid for one by one.
create table invalidations (
  day date primary key,
  paths bigint not null,
  last_at timestamptz not null
);
