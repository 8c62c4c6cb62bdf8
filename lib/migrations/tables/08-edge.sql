-- Cache tags of what the edge may still have as it was before. A transaction adds rows of its own and changes no other
-- ones, so no two writers meet here.
create table stale_tags (
  transaction xid8 not null default pg_current_xact_id(),
  tag text not null,
  added_at timestamptz not null default now(),
  invalidated_at timestamptz,
  primary key (transaction, tag)
);

comment on column stale_tags.invalidated_at is 'When the tag was invalidated first; it is invalidated again, since responses were on their way';

-- How many paths were invalidated on each day (in UTC), since they are paid for one by one.
create table invalidations (
  day date primary key,
  paths bigint not null,
  last_at timestamptz not null
);

-- Tags that a hyphen ends are completed by these ids. A transaction has at most fifty rows, or else the one row
-- `everything`.
create function add_stale_tags(tags text[], ids bigint[]) returns void
  language plpgsql
  set enable_seqscan = off
  as $$
    begin
      if tags = '{}' then
        return;
      end if;
      insert into stale_tags (tag)
      select distinct case when tag like '%-' then tag || id else tag end
      from unnest(tags) as tag cross join unnest(ids) as id
      where not exists (select from stale_tags where transaction = pg_current_xact_id() and tag = 'everything')
      limit 51
      on conflict do nothing;
      if found then
        if tags = '{everything}' or (select count(*) > 50 from stale_tags where transaction = pg_current_xact_id()) then
          delete from stale_tags where transaction = pg_current_xact_id();
          insert into stale_tags (tag) values ('everything');
        end if;
      end if;
    end
  $$;

create function tag_everything() returns trigger
  language plpgsql security definer
  set search_path = public, pg_temp
  as $$
    begin
      perform add_stale_tags('{everything}', '{0}');
      return null;
    end
  $$;
