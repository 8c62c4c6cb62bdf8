-- POST /admin-contributors/update-avatar/{id}, before the image's objects are written.
create function prepare_avatar(request request, caller caller) returns outcome language sql as $$
  select prepared_image(request)
$$;
