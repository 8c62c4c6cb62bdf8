create table clients (
  id bigint primary key check (id > 0),
  name text not null
);

create table contributors (
  id bigint generated always as identity primary key,
  client_id bigint references clients,
  scope bigint not null generated always as (coalesce(client_id, 0)) stored,
  public boolean not null default false,
  first_name text not null check (first_name <> ''),
  last_name text,
  name_key text not null generated always as (name_key(first_name || coalesce(' ' || last_name, ''))) stored collate "C",
  slug text not null constraint contributors_slug_key unique,
  gender text,
  type text,
  image text,
  random_key double precision not null default random()
);

comment on column contributors.client_id is 'Null: shared by every client';

comment on column contributors.scope is 'The client, or 0 where shared: a record is in a client''s scope when this is 0 or the client';

comment on column contributors.image is 'Key of the avatar in the bucket';

comment on column contributors.random_key is 'Place of the contributor in random picks';

create unique index contributors_name_key on contributors (identity_key(first_name), identity_key(last_name));

create index contributors_by_name on contributors (scope, name_key, id);

create index public_contributors_by_name on contributors (scope, name_key, id) where public;

create index public_contributors_by_id on contributors (scope, id) where public;

create index public_contributors_at_random on contributors (scope, random_key) include (slug) where public;

create index contributors_by_trigram on contributors using gin (name_key gin_trgm_ops);

create trigger assign_slug before insert on contributors for each row execute function assign_slug();

create table contributor_links (
  contributor_id bigint not null references contributors on delete cascade,
  position integer not null,
  url text not null check (url ~ '^https?://[^/]'),
  domain text not null generated always as (regexp_replace(split_part(url, '/', 3), '^www\.|:[0-9]+$', '', 'g')) stored,
  primary key (contributor_id, position)
);

create table contributor_aliases (
  id bigint generated always as identity primary key,
  contributor_id bigint not null references contributors on delete cascade,
  name text not null
);

create index contributor_aliases_by_contributor on contributor_aliases (contributor_id, id);

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
  relation_type text not null
);

create index contributor_relations_by_contributor on contributor_relations (contributor_id, id);

create index contributor_relations_by_relation on contributor_relations (relation_id);

create table contributor_locks (
  contributor_id bigint primary key references contributors on delete cascade,
  holder_id bigint not null references users on delete cascade,
  expires_at timestamptz not null
);

create index contributor_locks_by_holder on contributor_locks (holder_id);

create table publishers (
  id bigint generated always as identity primary key,
  client_id bigint references clients,
  scope bigint not null generated always as (coalesce(client_id, 0)) stored,
  name text not null check (name <> ''),
  name_key text not null generated always as (name_key(name)) stored collate "C",
  short_name text,
  slug text not null constraint publishers_slug_key unique,
  country text,
  website text check (website ~ '^https?://[^/]'),
  domain text generated always as (regexp_replace(split_part(website, '/', 3), '^www\.|:[0-9]+$', '', 'g')) stored,
  headquarter text,
  founding_date date,
  image text,
  image_source text,
  random_key double precision not null default random()
);

create index publishers_by_name on publishers (name_key, id);

create index publishers_at_random on publishers (scope, random_key) include (slug);

create index publishers_by_trigram on publishers using gin (name_key gin_trgm_ops);

create trigger assign_slug before insert on publishers for each row execute function assign_slug();

create table publisher_aliases (
  id bigint generated always as identity primary key,
  publisher_id bigint not null references publishers on delete cascade,
  title text not null,
  language text not null
);

create index publisher_aliases_by_publisher on publisher_aliases (publisher_id, id);

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
  type text not null
);

create index publisher_relations_by_publisher on publisher_relations (publisher_id, id);

create index publisher_relations_by_relation on publisher_relations (relation_id);
