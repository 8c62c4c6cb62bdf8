-- Names compare and are found without joiners and variation selectors, since nobody sees them. The keys of few
-- names change, and only these are written anew. But the indexes of identity are replaced: `reindex`, and sessions that
-- know an index, go on with the function that it was made with. For 200,000 contributors and users each this takes
-- some five seconds, in which changes wait for their lock; reads go on.
select cast(pg_advisory_xact_lock(8146205) as text);

create or replace function without_joiners(value text) returns text
  language sql immutable strict parallel safe
  return regexp_replace(
    value, '[\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]', '', 'g'
  );

-- A person has to decide about two names that become the same one.
do $$
  declare
    twins text;
  begin
    select string_agg(twin, ', ') into twins
    from (
      select 'user ' || one.id as twin
      from
        users as one
        join users as other
          on identity_key(without_joiners(one.username)) = identity_key(without_joiners(other.username))
      where one.id <> other.id and one.username <> without_joiners(one.username)
      union
      select 'role ' || one.id
      from
        roles as one
        join roles as other on identity_key(without_joiners(one.name)) = identity_key(without_joiners(other.name))
      where one.id <> other.id and one.name <> without_joiners(one.name)
      union
      select 'permission ' || one.id
      from
        permissions as one
        join permissions as other on identity_key(without_joiners(one.name)) = identity_key(without_joiners(other.name))
      where one.id <> other.id and one.name <> without_joiners(one.name)
      union
      select 'tag ' || one.id
      from
        tags as one
        join tags as other on identity_key(without_joiners(one.name)) = identity_key(without_joiners(other.name))
      where one.id <> other.id and one.name <> without_joiners(one.name)
      union
      select 'contributor ' || one.id
      from
        contributors as one
        join contributors as other
          on identity_key(without_joiners(one.first_name)) = identity_key(without_joiners(other.first_name))
          and identity_key(without_joiners(one.last_name)) = identity_key(without_joiners(other.last_name))
      where
        one.id <> other.id
        and (one.first_name <> without_joiners(one.first_name) or one.last_name <> without_joiners(one.last_name))
      order by 1
    ) as found;
    if twins is not null then
      raise exception 'Others have the same name but for joiners or variation selectors, which nobody sees. Rename %, and migrate again.', twins;
    end if;
  end
$$;

create or replace function identity_key(value text) returns text
  language sql immutable parallel safe
  return btrim(
    normalize(casefold(normalize(without_joiners(coalesce(value, '')), nfd) collate pg_unicode_fast), nfc)
  ) collate "C";

create or replace function name_key(value text) returns text
  language sql immutable strict parallel safe
  return btrim(regexp_replace(
    replace(replace(translate(
      casefold(
        regexp_replace(normalize(without_joiners(value), nfkd), '[\u0300-\u036f]', '', 'g') collate pg_unicode_fast
      ),
      'øłđħıð', 'oldhid'
    ), 'æ', 'ae'), 'œ', 'oe') collate "C",
    '\s+', ' ', 'g'
  ));

create unique index users_identity_key on users (identity_key(username));

create unique index roles_identity_key on roles (identity_key(name));

create unique index permissions_identity_key on permissions (identity_key(name));

create unique index tags_identity_key on tags (identity_key(name));

create unique index contributors_identity_key on contributors (identity_key(first_name), identity_key(last_name));

update users set username = username where username <> without_joiners(username);

update contributors
set first_name = first_name
where first_name <> without_joiners(first_name) or last_name <> without_joiners(last_name);

update publishers set name = name where name <> without_joiners(name);

update series set name = name where name <> without_joiners(name);

update series_aliases set name = name where name <> without_joiners(name);

-- Control characters in descriptions and sources, which are six bytes each in JSON, are not accepted any more.
create function without_control_characters(value text) returns text
  language sql immutable strict
  return regexp_replace(
    regexp_replace(value, '\r\n?', chr(10), 'g'), '[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]', '', 'g'
  );

update roles
set description = without_control_characters(description)
where description ~ '[\u0001-\u0008\u000b-\u001f\u007f-\u009f]';

update permissions
set description = without_control_characters(description)
where description ~ '[\u0001-\u0008\u000b-\u001f\u007f-\u009f]';

update contributor_descriptions
set description = without_control_characters(description), source = without_control_characters(source)
where
  description ~ '[\u0001-\u0008\u000b-\u001f\u007f-\u009f]'
  or source ~ '[\u0001-\u0008\u000b-\u001f\u007f-\u009f]';

drop function without_control_characters(text);

drop index users_username_key, roles_name_key, permissions_name_key, tags_name_key, contributors_name_key;

alter index users_identity_key rename to users_username_key;

alter index roles_identity_key rename to roles_name_key;

alter index permissions_identity_key rename to permissions_name_key;

alter index tags_identity_key rename to tags_name_key;

alter index contributors_identity_key rename to contributors_name_key;
