-- The second half of an image's update: the record gets its new image, which leaves the list, and the old one is listed
-- for removal.
create function replace_image(request request, caller caller) returns outcome language plpgsql as $$
  declare
    before json = image_record(request);
    error outcome = image_error(request, caller, before);
    image_key text = request.input ->> 'key';
  begin
    if error.status is null and not take_image(image_key) then
      error = refused(500);
    end if;
    if error.status is not null then
      perform schedule_removal(json_build_object('image', image_key));
      return error;
    end if;

    perform set_image(request, image_key);
    return done(request, caller, json_build_object('image', before -> 'image'), answer => json_build_object(
      'image', image_key,
      'former', schedule_removal(before) -> 'former'
    ), takes_authority => false);
  end
$$;
