-- DELETE /admin-contributors/delete/{id}. All its rows in other tables go with it.
create function delete_contributor(request request, caller caller) returns outcome language plpgsql as $$
  declare
    former text;
  begin
    delete from contributors where id = request.target returning image into former;
    return done(request, caller, json_build_object('former', former));
  end
$$;
