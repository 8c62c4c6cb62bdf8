-- The second half: the record begins to refer to its new image, and the old one is listed in its place. Objects that
-- are about to be removed may be read for removal already, so they cannot be referred to any more.
create function replace_image(request request) returns outcome language plpgsql as $$
  declare
    before json = image_record(request);
    refusal outcome = image_refusal(request, before);
    image_key text = request.asked ->> 'key';
  begin
    if refusal.status is null then
      delete from images_to_remove where key = image_key and remove_after > now() + interval '5 minutes';
      if not found then
        refusal = refused(500);
      end if;
    end if;
    if refusal.status is not null then
      perform give_up_image(json_build_object('image', image_key));
      return refusal;
    end if;

    perform set_image(request, image_key);
    return done(request, before, answer => json_build_object(
      'image', image_key,
      'former', give_up_image(before) -> 'former'
    ));
  end
$$;
