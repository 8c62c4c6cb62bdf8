-- The first half of an image's update, before its objects are written. It checks the caller, and lists the new image
-- for removal. An update takes less than half a minute: if the image is still listed after an hour, the update broke
-- off.
create function prepare_image(request request, caller caller) returns outcome language plpgsql as $$
  declare
    error outcome = image_error(request, caller, (image_record(request)).version);
  begin
    if error.status is not null then
      return error;
    end if;
    insert into images_to_remove (key, remove_after)
    values (request.input ->> 'key', now() + interval '1 hour')
    on conflict (key) do nothing;
    return succeeded();
  end
$$;
