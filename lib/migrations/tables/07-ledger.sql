-- The lock of all changes (lib/changes/begin-request.sql). Only its owner may lock a table, whereas every user of the
-- database may hold an advisory lock. It stays empty.
create table change_lock (id integer);

-- Schemas with the functions that change something, one a release (lib/changes).
create table releases (
  schema text primary key,
  installed_at timestamptz not null default now()
);

-- Who changed something, and when; what it did to each row has the table history. A change is a transaction: a
-- request's, an operator's, a migration's or another program's. Only the first two have a key, and an endpoint. A
-- request's key is unique for its caller and endpoint: when it is sent again, its response is here.
create table changes (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  -- PostgreSQL's own id of the transaction, which a copy of the database on another server repeats
  transaction xid8 not null default pg_current_xact_id(),
  role text not null default session_user, -- As which the transaction was logged in to PostgreSQL
  endpoint text, -- A path in functions/; null: another program, or a migration
  key text, -- The client's Idempotency-Key, or the id of the invocation
  request_id text,
  fingerprint text, -- SHA-256 of the input, if the client chose the key
  caller_id bigint, -- Null: no user. No foreign key, since the ledger outlives users
  -- The status for the caller's next request, if this change ended their session or took their permission
  caller_status integer,
  username text, -- The caller's name at that time
  operator text, -- Who invoked the function, as they said
  reason text,
  record text, -- user/5: whom a change concerns that leaves no row in history, such as a logout
  result json,
  import_id bigint,
  undoes bigint[], -- The changes that this one took back
  undone_by bigint -- The change that took this one back, unless that was taken back itself
);

create unique index changes_key on changes (caller_id, endpoint, key) nulls not distinct where key is not null;

-- Rows come in the order of their time, so this index has next to no size and no cost.
create index changes_by_time on changes using brin (at);

-- Queries of a user's changes name the condition of this index. `replayed` must not go by it: it keeps a plan that it may
-- have made while the ledger was empty, when this index and changes_key cost the same.
create index changes_by_caller on changes (caller_id, id) where caller_id > 0;

create index changes_by_username on changes (identity_key(username), id) where username is not null;

create index changes_by_record on changes (record, id) where record is not null;

create index changes_by_import on changes (import_id, id) where import_id is not null;

-- The rows that a statement inserted, updated or deleted in a table (lib/migrations/history.sql): of each its owner,
-- its primary key, and its values before and after. They lie in arrays, since an import inserts thousands at once.
create table history (
  change_id bigint not null,
  id bigint generated always as identity,
  table_name text not null,
  -- The id of the record that each row belongs to: of an alias that of its contributor; then the records that rows
  -- left
  owners bigint[] not null,
  keys jsonb not null, -- The values of the primary key of each row
  before jsonb, -- The values of each row; of an update those that changed; null of an insert
  after jsonb, -- Likewise, of an insert without the version; null of a deletion
  primary key (change_id, id)
);

create index history_by_owner on history using gin (owners);

-- One row for each row. Each array is read once: an access to each element would decompress the array each time.
create view changed_rows as
select
  change_id, id, position, table_name, owners, owner, key, nullif(row.before, 'null') as before,
  nullif(row.after, 'null') as after
from
  history
  cross join lateral rows from (
    unnest(owners), jsonb_array_elements(keys), jsonb_array_elements(before), jsonb_array_elements(after)
  ) with ordinality as row (owner, key, before, after, position)
where key is not null;
