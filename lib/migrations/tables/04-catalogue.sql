-- Websites; each has records of its own beside the shared ones.
create table clients (
  id bigint primary key check (id > 0),
  name text not null
);

-- A contributor's name in lists by last name, unless another one is given.
create function default_sort_name(first_name text, last_name text) returns text
  language sql immutable parallel safe
  return coalesce(last_name || ', ' || first_name, first_name);

-- Authors, artists and similar persons. Search keys of the name and of the aliases are one text, a line each, so a word is
-- looked for in all of them at once, by one index and without a join. A page has room for edits of its rows (fillfactor).
create table contributors (
  id bigint generated always as identity primary key,
  client_id bigint references clients, -- Null: shared by every client
  -- The client, or 0 where shared: a record is in a client's scope when this is 0 or the client
  scope bigint not null generated always as (coalesce(client_id, 0)) stored,
  public boolean not null default false,
  first_name text not null check (first_name <> ''),
  last_name text,
  disambiguation text not null default '', -- Tells contributors of one name apart
  sort_name text, -- Null: the default one
  name_key text not null generated always as (name_key(first_name || coalesce(' ' || last_name, ''))) stored collate "C",
  sort_key text not null generated always as (
    sort_key(coalesce(sort_name, default_sort_name(first_name, last_name)))
  ) stored collate "C",
  slug text not null constraint contributors_slug_key unique,
  gender text,
  type text,
  -- Key of the avatar in the bucket. A key that ends in -256 names the small picture of another image
  -- (lib/images/keys.ts), and those of users lie in profiles/.
  image text constraint contributors_image_is_own check (image !~ '^profiles/|-256(\.\w+)?$'),
  -- Width and height of this image in pixels, such as 1024x683. Null: not known. What writes an image writes this, too
  image_size text check (image_size ~ '^[1-9]\d{0,4}x[1-9]\d{0,4}$'),
  random_key double precision not null default random(), -- Place of the contributor in random picks
  version bigint not null default 1,
  added_at timestamptz not null default now(),
  alias_keys text not null default '' collate "C", -- Search keys of the aliases; kept by triggers
  -- Search keys of the name and of the aliases; one of the two is null
  short_search_keys text generated always as (
    search_keys(first_name || coalesce(' ' || last_name, ''), alias_keys, false)
  ) stored collate "C",
  long_search_keys text generated always as (
    search_keys(first_name || coalesce(' ' || last_name, ''), alias_keys, true)
  ) stored collate "C",
  -- The id of the record in the files that an operator imports. One that says a slug says the record's own
  external_id text constraint contributors_external_id_says_slug
    check (slug = substring(external_id from '^slug\u003a([^/?#%\\]+)$'))
)
with (fillfactor = 85);

create unique index contributors_name_key on contributors (
  identity_key(first_name), identity_key(last_name), identity_key(disambiguation)
);

create unique index contributors_external_id_key on contributors (external_id) where external_id is not null;

create index contributors_by_name on contributors (scope, name_key, id) include (short_search_keys);

create index public_contributors_by_name on contributors (scope, name_key, id) include (short_search_keys) where public;

create index contributors_by_sort_name on contributors (scope, sort_key, id) include (short_search_keys);

create index public_contributors_by_sort_name on contributors (scope, sort_key, id) include (short_search_keys)
  where public;

create index public_contributors_by_id on contributors (scope, id) where public;

create index contributors_by_id on contributors (scope, id);

create index contributors_by_type on contributors (scope, type, name_key, id) where type is not null;

create index unpublished_contributors_by_name on contributors (scope, name_key, id) where not public;

create index public_contributors_at_random on contributors (scope, random_key) include (slug) where public;

create index contributors_by_grams on contributors using gin (grams(coalesce(short_search_keys, long_search_keys)));

-- An image belongs to one record, and is removed with it.
create unique index contributors_image_key on contributors (image) where image is not null;

create trigger assign_slug before insert on contributors for each row execute function assign_slug();

create trigger list_former_image after insert or update of image or delete on contributors
  for each row execute function list_former_image();

-- The few that are too long for an index. The cost says how seldom this is called, else PostgreSQL would read the table.
create function long_search_keys(contributor bigint) returns text
  language sql stable parallel safe cost 1
  return (select long_search_keys from contributors where id = contributor);

-- Slugs of contributors that were merged into this one, which is found by them.
create table former_slugs (
  slug text primary key,
  contributor_id bigint not null references contributors on delete cascade
);

create index former_slugs_by_contributor on former_slugs (contributor_id);

-- Those of contributors that were merged into this one, whom imports mean by them.
create table former_external_ids (
  external_id text primary key,
  contributor_id bigint not null references contributors on delete cascade
);

create index former_external_ids_by_contributor on former_external_ids (contributor_id);

-- A label of a host in Unicode (RFC 3492, Punycode). A label that no browser would make stays as it is.
create function unicode_label(label text) returns text
  language plpgsql immutable strict parallel safe
  set search_path = public, pg_temp
  as $$
    declare
      encoded text = substr(label, 5);
      decoded text = coalesce(substring(encoded from '^(.*)-[^-]*$'), '');
      digits text = substring(encoded from '[^-]*$');
      code_point bigint = 128;
      index bigint = 0;
      previous_index bigint;
      bias bigint = 72;
      weight bigint;
      step bigint;
      threshold bigint;
      digit bigint;
      delta bigint;
      count bigint;
    begin
      if label !~ '^xn--[!-~]{1,59}$' then
        return label;
      end if;
      while digits <> '' loop
        previous_index = index;
        weight = 1;
        step = 36;
        loop
          digit = strpos('abcdefghijklmnopqrstuvwxyz0123456789', left(digits, 1)) - 1;
          if digits = '' or weight > 100000000 then
            return label;
          end if;
          digits = substr(digits, 2);
          index = index + digit * weight;
          threshold = least(greatest(step - bias, 1), 26);
          exit when digit < threshold;
          weight = weight * (36 - threshold);
          step = step + 36;
        end loop;
        count = length(decoded) + 1;
        delta = (index - previous_index) / case previous_index when 0 then 700 else 2 end;
        delta = delta + delta / count;
        step = 0;
        while delta > 455 loop
          delta = delta / 35;
          step = step + 36;
        end loop;
        bias = step + 36 * delta / (delta + 38);
        code_point = code_point + index / count;
        index = index % count;
        if code_point not between 160 and 1114111 or code_point between 55296 and 57343 then
          return label;
        end if;
        decoded = overlay(decoded placing chr(cast(code_point as integer)) from cast(index + 1 as integer) for 0);
        index = index + 1;
      end loop;
      return decoded;
    end
  $$;

-- The host of a URL as people read it, without www and port.
create function domain_of(url text) returns text
  language plpgsql immutable strict parallel safe
  set search_path = public, pg_temp
  as $$
    declare
      host text = regexp_replace(substring(url from '//([^/?#]*)'), '^www\.|\u003a[0-9]+$', '', 'g');
    begin
      if host not like '%xn--%' then
        return host;
      end if;
      return (
        select string_agg(unicode_label(label), '.' order by position)
        from string_to_table(host, '.') with ordinality as labels (label, position)
      );
    end
  $$;

create table contributor_links (
  contributor_id bigint not null references contributors on delete cascade,
  position integer not null,
  url text not null check (url ~ '^https?://[^/]'),
  domain text not null generated always as (domain_of(url)) stored,
  primary key (contributor_id, position)
);

create table contributor_aliases (
  id bigint generated always as identity primary key,
  contributor_id bigint not null references contributors on delete cascade,
  name text not null
);

create index contributor_aliases_by_contributor on contributor_aliases (contributor_id, id);

call keep_alias_keys('contributor_aliases', 'contributors', 'contributor_id', 'name');

create table contributor_descriptions (
  id bigint generated always as identity primary key,
  contributor_id bigint not null references contributors on delete cascade,
  language text not null,
  description text not null,
  source text not null default ''
);

create index contributor_descriptions_by_contributor on contributor_descriptions (contributor_id, id);

create table contributor_relations (
  id bigint generated always as identity primary key,
  contributor_id bigint not null references contributors on delete cascade,
  relation_id bigint not null constraint contributor_relations_relation_id_fkey references contributors on delete cascade,
  relation_type text not null,
  constraint contributor_relations_to_another_check check (relation_id <> contributor_id)
);

create index contributor_relations_by_contributor on contributor_relations (contributor_id, id);

create index contributor_relations_by_relation on contributor_relations (relation_id);

-- When each contributor or one of its elements was changed; kept by triggers. With an index of this time contributors
-- could not be written in place (HOT): each edit would add an entry to all their indexes.
create table contributor_changes (
  contributor_id bigint primary key references contributors on delete cascade,
  scope bigint not null, -- The contributor's
  changed_at timestamptz not null default now()
);

create index contributor_changes_by_time on contributor_changes (scope, changed_at, contributor_id);

create function note_change_of_contributors() returns trigger
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  as $$
    begin
      insert into contributor_changes as current (contributor_id, scope)
      select id, scope
      from added
      order by id
      on conflict (contributor_id) do update
      set scope = excluded.scope, changed_at = excluded.changed_at
      where current.changed_at <> excluded.changed_at or current.scope <> excluded.scope;
      return null;
    end
  $$;

call add_triggers('contributors', 'note_change', 'note_change_of_contributors()', '{insert, update}');

call keep_changed_at(
  'contributor_changes', 'contributor_id', 'contributor_id',
  '{contributor_links, contributor_aliases, contributor_descriptions, contributor_relations}',
  '{insert, update, delete}'
);

-- Who is editing a contributor, and until when.
create table contributor_locks (
  contributor_id bigint primary key references contributors on delete cascade,
  editor_id bigint not null references users on delete cascade,
  expires_at timestamptz not null
);

create index contributor_locks_by_editor on contributor_locks (editor_id);

-- Houses that publish series; columns as of contributors.
create table publishers (
  id bigint generated always as identity primary key,
  client_id bigint references clients,
  scope bigint not null generated always as (coalesce(client_id, 0)) stored,
  name text not null check (name <> ''),
  name_key text not null generated always as (name_key(name)) stored collate "C",
  letter text not null generated always as (left(sort_key(name), 1)) stored collate "C",
  short_name text,
  slug text not null constraint publishers_slug_key unique,
  country text,
  website text check (website ~ '^https?://[^/]'),
  domain text generated always as (domain_of(website)) stored,
  headquarter text,
  -- What is known of it, as YYYY, YYYY-MM or YYYY-MM-DD
  founding_date text check (
    founding_date ~ '^\d{4}(-\d\d){0,2}$' and pg_input_is_valid(rpad(founding_date, 10, '-01'), 'date')
  ),
  image text constraint publishers_image_is_own check (image !~ '^(avatars|profiles)/'), -- The bucket keeps it
  image_size text check (image_size ~ '^[1-9]\d{0,4}x[1-9]\d{0,4}$'),
  image_source text,
  random_key double precision not null default random(),
  added_at timestamptz not null default now(),
  changed_at timestamptz not null default now(), -- When it or one of its elements was changed; kept by triggers
  alias_keys text not null default '' collate "C",
  search_keys text not null generated always as (search_key(name) || chr(10) || alias_keys) stored collate "C",
  external_id text constraint publishers_external_id_says_slug
    check (slug = substring(external_id from '^slug\u003a([^/?#%\\]+)$'))
);

create unique index publishers_external_id_key on publishers (external_id) where external_id is not null;

create index publishers_by_name on publishers (name_key, id);

create index publishers_by_change on publishers (changed_at, id);

create index publishers_by_letter on publishers (letter);

create index publishers_at_random on publishers (scope, random_key) include (slug);

create index publishers_by_grams on publishers using gin (grams(search_keys));

create trigger assign_slug before insert on publishers for each row execute function assign_slug();

create table publisher_aliases (
  id bigint generated always as identity primary key,
  publisher_id bigint not null references publishers on delete cascade,
  title text not null,
  language text not null
);

create index publisher_aliases_by_publisher on publisher_aliases (publisher_id, id);

call keep_alias_keys('publisher_aliases', 'publishers', 'publisher_id', 'title');

create table publisher_descriptions (
  id bigint generated always as identity primary key,
  publisher_id bigint not null references publishers on delete cascade,
  language text not null,
  description text not null,
  source text not null default ''
);

create index publisher_descriptions_by_publisher on publisher_descriptions (publisher_id, id);

create table publisher_relations (
  id bigint generated always as identity primary key,
  publisher_id bigint not null references publishers on delete cascade,
  relation_id bigint not null references publishers on delete cascade,
  type text not null,
  constraint publisher_relations_to_another_check check (relation_id <> publisher_id)
);

create index publisher_relations_by_publisher on publisher_relations (publisher_id, id);

create index publisher_relations_by_relation on publisher_relations (relation_id);

create trigger note_change before update on publishers for each row execute function note_change();

call keep_changed_at(
  'publishers', 'id', 'publisher_id', '{publisher_aliases, publisher_descriptions, publisher_relations}',
  '{insert, update, delete}'
);
