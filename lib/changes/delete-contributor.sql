-- DELETE /admin-contributors/delete/{id}. All its rows in other tables go with it.
create function delete_contributor(request request, caller caller) returns outcome language plpgsql as $$
  declare
    old_image text;
  begin
    delete from contributors where id = request.target returning image into old_image;
    return done(request, caller, json_build_object('old_image', old_image));
  end
$$;
