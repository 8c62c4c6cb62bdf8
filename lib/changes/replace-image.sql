-- The second half of an image's update: the record gets its new image. If it may not, the new image is due at once.
create function replace_image(request request, caller caller) returns outcome language plpgsql as $$
  declare
    image_key text = request.input ->> 'key';
    former text;
    version bigint;
    error outcome;
  begin
    select * into former, version from image_record(request);
    error = image_error(request, caller, version);
    if error.status is null and not is_available(image_key) then
      error = refused(500);
    end if;
    if error.status is not null then
      insert into images_to_remove (key)
      values (image_key)
      on conflict (key) do update
      set remove_after = excluded.remove_after;
      return error;
    end if;

    perform set_image(request, image_key);
    return done(
      request, caller, json_build_object('image', image_key, 'former', former), takes_authority => false
    );
  end
$$;
