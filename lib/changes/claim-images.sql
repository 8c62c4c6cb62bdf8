-- Returns the listed images that are due, after a key and in the order of keys. Their new time shows that the caller
-- may delete their objects within the next minute (list-former-images.sql).
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
