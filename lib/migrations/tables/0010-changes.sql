-- Everything that was changed, and by whom. A request's key is unique for its caller and endpoint: when it is sent
-- again, it is answered from here.
create table changes (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  key text not null,
  request_id text not null,
  fingerprint text,
  endpoint text not null,
  caller_id bigint,
  username text,
  record_id bigint,
  asked json,
  before json,
  answer json
);

comment on column changes.key is 'The client''s Idempotency-Key, or the id of the invocation';

comment on column changes.fingerprint is 'SHA-256 of what was asked, where the client chose the key';

comment on column changes.caller_id is 'Null: an operator. No foreign key, since the ledger outlives users';

comment on column changes.username is 'The caller''s name at that time';

create unique index changes_key on changes (caller_id, endpoint, key) nulls not distinct;

-- Rows come in the order of their time, so this index has next to no size and no cost.
create index changes_by_time on changes using brin (at);

-- Schemas with the functions that change something, one a release (lib/changes).
create table releases (
  schema text primary key,
  installed_at timestamptz not null default now()
);

alter table users add column version bigint not null default 1;

alter table roles add column version bigint not null default 1;

alter table permissions add column version bigint not null default 1;

alter table contributors add column version bigint not null default 1;
