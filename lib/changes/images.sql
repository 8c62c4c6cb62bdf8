-- Whether a record can have an image that is listed for removal. One that is due in five minutes or earlier may be
-- removed already.
create function is_available(image_key text) returns boolean language sql stable as $$
  select exists (select from images_to_remove where key = image_key and remove_after > now() + interval '5 minutes')
$$;

-- The images that changes took from users and contributors, and that no record has. Undone, these changes need them.
create function former_images(change_ids bigint[]) returns text[] language sql stable as $$
  select array(
    select distinct before ->> 'image'
    from changed_rows
    where
      change_id = any(change_ids)
      and table_name in ('contributors', 'users')
      and before ->> 'image' is not null
      and not exists (select from contributors where image = before ->> 'image')
      and not exists (select from users where image = before ->> 'image')
  )
$$;

-- Lists images for removal in an hour. So they are removed again unless a record gets them until then.
create function postpone_removal(keys text[]) returns void language sql as $$
  insert into images_to_remove (key, remove_after)
  select key, now() + interval '1 hour'
  from unnest(keys) as key
  on conflict (key) do update
  set remove_after = excluded.remove_after
$$;
