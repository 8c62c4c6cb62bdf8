-- Removes a record's image. In the interface a record without an image is an error.
create function remove_image(request request, caller caller) returns outcome language plpgsql as $$
  declare
    former text;
    version bigint;
    error outcome;
  begin
    select * into former, version from image_record(request);
    error = image_error(request, caller, version);
    if error.status is not null then
      return error;
    end if;
    if former is null then
      return refused(500);
    end if;

    perform set_image(request, null);
    return done(request, caller, json_build_object('former', former), takes_authority => false);
  end
$$;
