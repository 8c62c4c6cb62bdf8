-- Folding the case of a letter may take it apart, so it is composed afterwards. The indexes are made anew, for they
-- hold the keys of before.
create or replace function identity_key(value text) returns text
  language sql immutable parallel safe
  return btrim(
    normalize(casefold(normalize(coalesce(value, ''), nfd) collate pg_unicode_fast), nfc)
  ) collate "C";

reindex index users_username_key;

reindex index roles_name_key;

reindex index permissions_name_key;

reindex index contributors_name_key;
