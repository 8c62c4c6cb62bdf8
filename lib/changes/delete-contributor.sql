-- DELETE /admin-contributors/delete/{id}. All its rows in other tables go with it.
create function delete_contributor(request request, caller caller) returns outcome language plpgsql as $$
  declare
    fields contributors;
    error outcome;
  begin
    select * into fields from contributors where id = request.target;
    error = record_error(request, fields.version);
    if error.status is not null then
      return error;
    end if;

    delete from contributors where id = request.target;
    return done(request, caller, json_build_object('former', fields.image));
  end
$$;
