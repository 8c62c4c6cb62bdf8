-- A contributor that was merged into another one goes on being found by its slug (lib/changes/merge-contributors.sql).
create table former_slugs (
  slug text primary key,
  contributor_id bigint not null references contributors on delete cascade
);

comment on table former_slugs is 'Slugs of contributors that were merged into this one';

create index former_slugs_by_contributor on former_slugs (contributor_id);

-- What is found by a former slug shows the contributor as that is now.
create trigger stale_tags_added after insert on former_slugs
  referencing new table as added
  for each statement execute function tag_contributor_elements();

create trigger stale_tags_changed after update on former_slugs
  referencing old table as removed new table as added
  for each statement execute function tag_contributor_elements();

create trigger stale_tags_removed after delete on former_slugs
  referencing old table as removed
  for each statement execute function tag_contributor_elements();

create trigger stale_tags_truncated after truncate on former_slugs
  for each statement execute function tag_everything();

-- Whether a record of this table has the slug, or had it: so nobody gets a slug that leads to another contributor.
create or replace function slug_exists(table_name text, wanted text) returns boolean
  language plpgsql stable
  as $$
    declare
      found_one boolean;
    begin
      execute format('select exists (select from %I where slug = $1)', table_name) into found_one using wanted;
      return found_one or table_name = 'contributors' and exists (select from former_slugs where slug = wanted);
    end
  $$;
