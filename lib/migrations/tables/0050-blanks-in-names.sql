-- Names are the same whatever number of blanks, of whatever kind, is between their words. The indexes are made anew, since
-- they and sessions that know them go on with the function that they were made with.
create or replace function identity_key(value text) returns text
  language sql immutable parallel safe
  return btrim(regexp_replace(
    normalize(casefold(normalize(without_joiners(coalesce(value, '')), nfd) collate pg_unicode_fast), nfc),
    '\s+', ' ', 'g'
  )) collate "C";

create unique index users_identity_key on users (identity_key(username));

create unique index roles_identity_key on roles (identity_key(name));

create unique index permissions_identity_key on permissions (identity_key(name));

create unique index tags_identity_key on tags (identity_key(name));

create unique index contributors_identity_key on contributors (identity_key(first_name), identity_key(last_name));

create index changes_by_identity on changes (identity_key(username), id);

drop index users_username_key, roles_name_key, permissions_name_key, tags_name_key, contributors_name_key,
  changes_by_username;

alter index users_identity_key rename to users_username_key;

alter index roles_identity_key rename to roles_name_key;

alter index permissions_identity_key rename to permissions_name_key;

alter index tags_identity_key rename to tags_name_key;

alter index contributors_identity_key rename to contributors_name_key;

alter index changes_by_identity rename to changes_by_username;
