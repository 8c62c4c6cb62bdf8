-- Takes images off the list of those to remove, once their objects are gone. The answer is how many.
create function forget_images(request request) returns outcome language plpgsql as $$
  declare
    forgotten bigint;
  begin
    delete from images_to_remove
    where key in (select json_array_elements_text(request.asked -> 'keys')) and remove_after <= now();
    get diagnostics forgotten = row_count;
    if forgotten = 0 then
      return answered(to_json(forgotten));
    end if;
    return done(request, answer => to_json(forgotten));
  end
$$;
