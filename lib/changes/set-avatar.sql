-- The second half of POST /admin-contributors/update-avatar/{id}, and DELETE /admin-contributors/delete-avatar/{id}.
create function set_avatar(request request, caller caller) returns outcome language plpgsql as $$
  declare
    new_image text = request.input ->> 'key';
    old_image text;
  begin
    if not can_have(new_image) then
      return refused(500);
    end if;

    update contributors
    set image = new_image, image_size = request.input ->> 'size', version = version + 1
    where id = request.target and image is distinct from new_image
    returning old.image into old_image;
    return image_set(request, caller, old_image);
  end
$$;
