-- The lock of all changes (lib/changes/admit.sql). Only its owner may lock a table, whereas every user of the database
-- may hold an advisory lock. It stays empty.
create table change_lock (id integer);

alter table changes add column caller_status integer;

comment on column changes.caller_status is 'The status for the caller''s next request, if this change ended their session or took their permission';
