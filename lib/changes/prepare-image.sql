-- The first half of an image's update, before its objects are written. make_change has checked the caller; this lists
-- the new image for removal. An update takes less than half a minute: if the image is still listed after an hour, the
-- update broke off.
create function prepare_image(request request, caller caller) returns outcome language plpgsql as $$
  begin
    perform postpone_removal(array[request.input ->> 'key']);
    return succeeded();
  end
$$;
