-- The changes of a record and those of a user, newest first, without reading the ledger from its end. A user is looked
-- for by the id and by the name at that time.
create index changes_by_record on changes (record_id, id);

create index changes_by_caller on changes (caller_id, id);

create index changes_by_username on changes (identity_key(username), id);
