-- Objects in the bucket that no record refers to, or that none will refer to once a running update has failed.
create table images_to_remove (
  key text primary key,
  remove_after timestamptz not null default now()
);

create index images_to_remove_by_time on images_to_remove (remove_after);

-- Behind each row whose image changed or that was deleted: the old image is listed for removal, and the new one
-- leaves the list. An image that an earlier transaction listed, and that is due in five minutes, may be removed already.
-- Objects outside the folders of this service are not its own.
create function list_former_image() returns trigger
  language plpgsql security definer
  set search_path = public, pg_temp
  as $$
    declare
      listed timestamptz;
    begin
      if new.image is not distinct from old.image then
        return null;
      end if;
      if new.image is not null then
        delete from images_to_remove where key = new.image returning remove_after into listed;
        if listed <> now() and listed <= now() + interval '5 minutes' then
          raise integrity_constraint_violation using message = 'The image may be removed already';
        end if;
      end if;
      if old.image ~ '^(avatars|profiles)/[^/]+$' then
        insert into images_to_remove (key)
        values (old.image)
        on conflict (key) do update
        set remove_after = excluded.remove_after;
      end if;
      return null;
    end
  $$;
