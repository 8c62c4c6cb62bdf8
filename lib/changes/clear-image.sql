-- Ends a record's reference to its image; a record without one is an error of the interface.
create function clear_image(request request) returns outcome language plpgsql as $$
  declare
    before json = image_record(request);
    refusal outcome = image_refusal(request, before);
  begin
    if refusal.status is not null then
      return refusal;
    end if;
    if before ->> 'image' is null then
      return refused(500);
    end if;

    perform set_image(request, null);
    return done(request, before, answer => give_up_image(before));
  end
$$;
