-- Removes a record's image, and lists it for removal. In the interface a record without an image is an error.
create function remove_image(request request, caller caller) returns outcome language plpgsql as $$
  declare
    before json = image_record(request);
    error outcome = image_error(request, caller, before);
  begin
    if error.status is not null then
      return error;
    end if;
    if before ->> 'image' is null then
      return refused(500);
    end if;

    perform set_image(request, null);
    return done(
      request, caller, json_build_object('image', before -> 'image'), answer => schedule_removal(before),
      takes_authority => false
    );
  end
$$;
