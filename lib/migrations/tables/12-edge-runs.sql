-- Which run of `ops-invalidate` works: one at a time, so that no tag is paid for twice. It has the row for some seconds,
-- and extends them while it works.
create table invalidation_lease (
  single boolean primary key default true check (single),
  run text not null,
  until timestamptz not null
);

comment on column stale_tags.invalidated_at is 'Of earlier releases, which invalidated each tag twice';
