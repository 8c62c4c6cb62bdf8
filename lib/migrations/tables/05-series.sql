-- Works; columns as of contributors.
create table series (
  id bigint generated always as identity primary key,
  client_id bigint references clients,
  scope bigint not null generated always as (coalesce(client_id, 0)) stored,
  name text not null check (name <> ''),
  name_key text not null generated always as (name_key(name)) stored collate "C",
  sort_key text not null generated always as (sort_key(name)) stored collate "C",
  slug text not null constraint series_slug_key unique,
  type text not null default '',
  origin text not null default '',
  random_key double precision not null default random(),
  added_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  alias_keys text not null default '' collate "C",
  short_search_keys text generated always as (search_keys(name, alias_keys, false)) stored collate "C",
  long_search_keys text generated always as (search_keys(name, alias_keys, true)) stored collate "C",
  external_id text constraint series_external_id_says_slug
    check (slug = substring(external_id from '^slug\u003a([^/?#%\\]+)$'))
);

create unique index series_external_id_key on series (external_id) where external_id is not null;

create index series_by_name on series (scope, name_key, id) include (short_search_keys);

create index series_by_sort_name on series (scope, sort_key, id) include (short_search_keys, type);

create index series_by_type on series (scope, type, name_key, id);

create index series_by_id on series (scope, id) include (type);

create index series_by_change on series (scope, changed_at, id) include (type);

create index series_at_random on series (scope, random_key) include (slug);

create index series_by_grams on series using gin (grams(coalesce(short_search_keys, long_search_keys)));

create trigger assign_slug before insert on series for each row execute function assign_slug();

-- As long_search_keys, of a series.
create function long_series_search_keys(series_id bigint) returns text
  language sql stable parallel safe cost 1
  return (select long_search_keys from series where id = series_id);

create table series_aliases (
  id bigint generated always as identity primary key,
  series_id bigint not null references series on delete cascade,
  name text not null,
  language text not null
);

create index series_aliases_by_series on series_aliases (series_id, id);

call keep_alias_keys('series_aliases', 'series', 'series_id', 'name');

create table series_descriptions (
  id bigint generated always as identity primary key,
  series_id bigint not null references series on delete cascade,
  language text not null,
  description text not null
);

create index series_descriptions_by_series on series_descriptions (series_id, id);

create table tags (
  id bigint generated always as identity primary key,
  name text not null check (name <> '')
);

create unique index tags_name_key on tags (identity_key(name));

create table series_tags (
  series_id bigint not null references series on delete cascade,
  tag_id bigint not null references tags on delete cascade,
  primary key (series_id, tag_id)
);

create index series_tags_by_tag on series_tags (tag_id, series_id);

create table volumes (
  id bigint generated always as identity primary key,
  series_id bigint not null references series on delete cascade,
  number integer not null,
  -- Key of the cover image in the bucket, which keeps it
  cover text constraint volumes_cover_is_own check (cover !~ '^(avatars|profiles)/'),
  aspect_ratio double precision not null default 0.7 check (aspect_ratio > 0 and aspect_ratio < 'infinity'),
  nsfw smallint not null default 0 check (nsfw in (0, 1)),
  nsfw18 smallint not null default 0 check (nsfw18 in (0, 1))
);

create unique index volumes_number_key on volumes (series_id, number);

create table series_contributors (
  contributor_id bigint not null references contributors on delete cascade,
  series_id bigint not null references series on delete cascade,
  role text,
  primary key (contributor_id, series_id)
);

create index series_contributors_by_series on series_contributors (series_id);

create table series_publishers (
  publisher_id bigint not null references publishers on delete cascade,
  series_id bigint not null references series on delete cascade,
  primary key (publisher_id, series_id)
);

create index series_publishers_by_series on series_publishers (series_id);

create trigger note_change before update on series for each row execute function note_change();

call keep_changed_at(
  'series', 'id', 'series_id',
  '{series_aliases, series_descriptions, series_tags, volumes, series_contributors, series_publishers}',
  '{insert, update, delete}'
);
