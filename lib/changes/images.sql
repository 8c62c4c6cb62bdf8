-- Locks the record whose image is to change, and returns its id, image and version. So updates of one record run one
-- after the other, and each sees the image of the one before.
create function image_record(request request) returns json language plpgsql as $$
  declare
    record json;
  begin
    if request.input ->> 'owner' = 'users' then
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

-- Refuses a change of a record's image.
create function image_error(request request, caller caller, before json) returns outcome language plpgsql as $$
  declare
    error outcome = record_error(request, before);
  begin
    if error.status is null and request.input ->> 'owner' = 'users' and outranks(request.target, caller.id) then
      return refused(403);
    end if;
    return error;
  end
$$;

create function set_image(request request, image_key text) returns void language plpgsql as $$
  begin
    if request.input ->> 'owner' = 'users' then
      update users set image = image_key, version = version + 1 where id = request.target;
    else
      update contributors set image = image_key, version = version + 1 where id = request.target;
    end if;
  end
$$;

-- Lists the former image of a record for removal, if it had one. Returns its key. With a delay another record can still
-- take it in the same transaction.
create function schedule_removal(before json, delay interval default '0') returns json language plpgsql as $$
  begin
    insert into images_to_remove as listed (key, remove_after)
    select before ->> 'image', now() + delay
    where before ->> 'image' is not null
    on conflict (key) do update
    set remove_after = excluded.remove_after;
    return json_build_object('former', before ->> 'image');
  end
$$;

-- Takes an image off the list for removal, so that a record can have it. One that is due in five minutes or earlier may
-- be removed already: it is not taken, nor is one that is not listed.
create function take_image(image_key text) returns boolean language plpgsql as $$
  begin
    delete from images_to_remove where key = image_key and remove_after > now() + interval '5 minutes';
    return found;
  end
$$;
