-- The second half of an image's update: the record gets its new image. If that may be removed already, its objects are
-- listed again.
create function replace_image(request request, caller caller) returns outcome language plpgsql as $$
  declare
    image_key text = request.input ->> 'key';
  begin
    if not is_available(image_key) then
      insert into images_to_remove (key)
      values (image_key)
      on conflict (key) do update
      set remove_after = excluded.remove_after;
      return refused(500);
    end if;
    return done(
      request, caller, json_build_object('image', image_key, 'former', set_image(request, image_key)),
      takes_authority => false
    );
  end
$$;
