-- Lists the images that changes need if they are undone, before their objects are restored. Whoever deletes objects
-- does that within a minute after they became due, or were claimed (claim-images.sql): `seconds` is how long to wait.
-- The call may be repeated, so it counts from an earlier one, too.
create function list_former_images(request request) returns outcome language plpgsql as $$
  declare
    keys text[] = former_images(ids(request.input -> 'changes'));
    latest timestamptz = (
      select max(case when remove_after > now() then remove_after - interval '1 hour' else remove_after end)
      from images_to_remove
      where key = any(keys)
    );
  begin
    perform postpone_removal(keys);
    return succeeded(json_build_object(
      'keys', keys,
      'seconds', coalesce(greatest(0, ceil(60 - extract(epoch from now() - latest))), 0)
    ));
  end
$$;
