-- Gives the record of the request another image, the second half of its update, or removes the image. The record is
-- locked (record_error), so updates of one record run one after the other, and each sees the image of the one before.
-- If the new image may be removed already, its objects are listed again. In the interface a record without an image to
-- remove is an error.
create function set_image(request request, caller caller) returns outcome language plpgsql as $$
  declare
    image_key text = request.input ->> 'key';
    former text;
  begin
    if image_key is not null and not is_available(image_key) then
      insert into images_to_remove (key)
      values (image_key)
      on conflict (key) do update
      set remove_after = excluded.remove_after;
      return refused(500);
    end if;

    if request.kind = 'users' then
      update users
      set image = image_key, version = version + 1
      where id = request.target and image is distinct from image_key
      returning old.image into former;
    else
      update contributors
      set image = image_key, version = version + 1
      where id = request.target and image is distinct from image_key
      returning old.image into former;
    end if;
    if image_key is null and former is null then
      return refused(500);
    end if;
    return done(
      request, caller, json_build_object('image', image_key, 'former', former), takes_authority => false
    );
  end
$$;
