-- POST /admin-users/update-image/{id}, before the image's objects are written.
create function prepare_user_image(request request, caller caller) returns outcome language sql as $$
  select prepared_image(request)
$$;
