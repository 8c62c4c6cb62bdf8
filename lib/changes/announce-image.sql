-- The first half of an image's update: lets the caller in, and lists the objects that are about to be written as ones
-- to remove. An update takes less than half a minute; after an hour they are left over from one that broke off.
create function announce_image(request request) returns outcome language plpgsql as $$
  declare
    refusal outcome = image_refusal(request, image_record(request));
  begin
    if refusal.status is not null then
      return refusal;
    end if;
    insert into images_to_remove (key, remove_after)
    values (request.asked ->> 'key', now() + interval '1 hour')
    on conflict (key) do nothing;
    return answered();
  end
$$;
