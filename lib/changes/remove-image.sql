-- Removes a record's image. In the interface a record without an image is an error.
create function remove_image(request request, caller caller) returns outcome language plpgsql as $$
  declare
    former text = set_image(request, null);
  begin
    if former is null then
      return refused(500);
    end if;
    return done(request, caller, json_build_object('former', former), takes_authority => false);
  end
$$;
