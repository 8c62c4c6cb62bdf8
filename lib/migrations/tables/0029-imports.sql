-- Files that are, or were, imported (lib/changes/import-records.sql): how far each has come, and what came of it.
create table imports (
  source text primary key,
  position bigint not null default 0,
  lines bigint not null default 0,
  added bigint not null default 0,
  changed bigint not null default 0,
  unchanged bigint not null default 0,
  refused bigint not null default 0,
  refusals jsonb not null default '[]',
  is_done boolean not null default false,
  begun_at timestamptz not null default now(),
  moved_at timestamptz not null default now(),
  key text,
  answer json
);

comment on column imports.source is 'The object and its ETag, or the hash of what was sent; another text is another import';

comment on column imports.position is 'The byte at which the next line begins';

comment on column imports.refusals is 'The first hundred lines that were refused';

comment on column imports.key is 'Of the last batch, with its answer, for when it is sent again';

-- What whoever sends the files calls a record.
alter table contributors add column external_id text;

-- As before, but planned once a session: an import asks this for each record. A trigger passes the name of its table,
-- whose collation is not that of the slugs' indexes.
create or replace function slug_exists(table_name text, wanted text) returns boolean
  language plpgsql stable
  as $$
    declare
      slug_wanted text collate "default" = wanted;
    begin
      return case table_name
        when 'contributors' then
          exists (select from contributors where slug = slug_wanted)
          or exists (select from former_slugs where slug = slug_wanted)
        when 'publishers' then exists (select from publishers where slug = slug_wanted)
        when 'series' then exists (select from series where slug = slug_wanted)
        when 'users' then exists (select from users where slug = slug_wanted)
      end;
    end
  $$;
