-- The record whose image is asked for, as far as its image goes. It is locked, so that updates of one record take
-- turns, and each sees the image that the one before has left.
create function image_record(request request) returns json language plpgsql as $$
  declare
    record json;
  begin
    if request.asked ->> 'owner' = 'users' then
      select json_build_object('id', id, 'image', image, 'version', version) into record
      from users
      where id = request.target
      for no key update;
    else
      select json_build_object('id', id, 'image', image, 'version', version) into record
      from contributors
      where id = request.target
      for no key update;
    end if;
    return record;
  end
$$;

-- Why the image of a record may not be changed; null when it may.
create function image_refusal(request request, before json) returns outcome language plpgsql as $$
  begin
    if objection(request, before) > 0 then
      return refused(objection(request, before));
    end if;
    if request.asked ->> 'owner' = 'users' and outranks(request.target, request.caller) then
      return refused(403);
    end if;
    return null;
  end
$$;

create function set_image(request request, image_key text) returns void language sql as $$
  update users set image = image_key, version = version + 1
  where id = request.target and request.asked ->> 'owner' = 'users';
  update contributors set image = image_key, version = version + 1
  where id = request.target and request.asked ->> 'owner' = 'contributors';
$$;

-- Lists the object that a record referred to as one to remove; gives its key, or null where there was none.
create function give_up_image(before json) returns json language plpgsql as $$
  begin
    insert into images_to_remove as listed (key)
    select before ->> 'image'
    where before ->> 'image' is not null
    on conflict (key) do update
    set remove_after = excluded.remove_after;
    return json_build_object('former', before ->> 'image');
  end
$$;
