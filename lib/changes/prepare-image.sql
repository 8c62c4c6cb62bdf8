-- The first half of an image's update, before its objects are written. It checks the caller, and lists the new image
-- for removal. An update takes less than half a minute: if the image is still listed after an hour, the update broke
-- off.
create function prepare_image(request request, caller caller) returns outcome language plpgsql as $$
  begin
    if request.kind = 'users' and outranks(request.target, caller.id) then
      return refused(403);
    end if;
    insert into images_to_remove (key, remove_after)
    values (request.input ->> 'key', now() + interval '1 hour')
    on conflict (key) do nothing;
    return succeeded();
  end
$$;
