-- The second half of an image's update: the record gets its new image. If it may not, the new image is due at once.
create function replace_image(request request, caller caller) returns outcome language plpgsql as $$
  declare
    image_key text = request.input ->> 'key';
    error outcome = record_error(request);
  begin
    if error.status is null and request.kind = 'users' and outranks(request.target, caller.id) then
      error = refused(403);
    elsif error.status is null and not is_available(image_key) then
      error = refused(500);
    end if;
    if error.status is not null then
      insert into images_to_remove (key)
      values (image_key)
      on conflict (key) do update
      set remove_after = excluded.remove_after;
      return error;
    end if;

    return done(
      request, caller, json_build_object('image', image_key, 'former', set_image(request, image_key)),
      takes_authority => false
    );
  end
$$;
