-- Gives the listed images that are due, ordered by key, after a key. Their objects may be deleted in the next minute,
-- which their new time tells (list-former-images.sql).
create function claim_images(request request) returns outcome language plpgsql as $$
  declare
    keys text[] = array(
      select key
      from images_to_remove
      where remove_after <= now() and key > request.input ->> 'after'
      order by key
      limit cast(request.input ->> 'limit' as bigint)
    );
  begin
    update images_to_remove set remove_after = now() where key = any(keys);
    return succeeded(array_to_json(keys));
  end
$$;
