-- Of users who were deleted before deletions saw to it (lib/changes/delete-user.sql), the ledger has only ids, too.
update changes
set asked = null, before = null, answer = null
where
  (starts_with(endpoint, 'admin-users/') or endpoint in ('ops/create-user', 'ops/issue-refresh-token'))
  and not exists (select from users where id = record_id);

update changes
set username = null
where username is not null and not exists (select from users where id = caller_id);
