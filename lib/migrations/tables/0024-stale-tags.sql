-- Cache tags of what the edge may still have as it was before. A transaction adds rows of its own and nobody changes
-- another's, so no two writers meet here.
create table stale_tags (
  transaction xid8 not null default pg_current_xact_id(),
  tag text not null,
  added_at timestamptz not null default now(),
  invalidated_at timestamptz,
  primary key (transaction, tag)
);

comment on column stale_tags.invalidated_at is 'When the edge was told first; it is told again, since answers were on their way';
