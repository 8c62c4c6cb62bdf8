-- Takes images off the list for removal after their objects are deleted. The result is their number.
create function unlist_images(request request) returns outcome language plpgsql as $$
  declare
    unlisted bigint;
  begin
    delete from images_to_remove
    where key in (select json_array_elements_text(request.input -> 'keys')) and remove_after <= now();
    get diagnostics unlisted = row_count;
    if unlisted = 0 then
      return succeeded(to_json(unlisted));
    end if;
    return done(request, null, to_json(unlisted));
  end
$$;
