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

-- The first half of an image's update, before its objects are written. make_change has checked the caller; this lists
-- the new image for removal. An update takes less than half a minute: if the image is still listed after an hour, the
-- update broke off.
create function prepared_image(request request) returns outcome language plpgsql as $$
  begin
    perform postpone_removal(array[request.input ->> 'key']);
    return succeeded();
  end
$$;

-- Whether a record can have the image, or none. If it may be removed already, its objects are listed again. The record
-- is locked (record_error), so updates of one record run one after the other, and each sees the image of the last.
create function can_have(image_key text) returns boolean language plpgsql as $$
  begin
    if image_key is null or is_available(image_key) then
      return true;
    end if;
    insert into images_to_remove (key)
    values (image_key)
    on conflict (key) do update
    set remove_after = excluded.remove_after;
    return false;
  end
$$;

-- The outcome of a record's new image. In the interface a record without an image to remove is an error.
create function image_set(request request, caller caller, old_image text) returns outcome language plpgsql as $$
  declare
    new_image text = request.input ->> 'key';
  begin
    if new_image is null and old_image is null then
      return refused(500);
    end if;
    return done(
      request, caller, json_build_object('image', new_image, 'old_image', old_image), takes_authority => false
    );
  end
$$;
