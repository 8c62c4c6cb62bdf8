-- DELETE /admin-contributors/delete/{id}. All its rows in other tables go with it.
create function delete_contributor(request request, caller caller) returns outcome language plpgsql as $$
  declare
    before json = contributor_record(request.target);
    error outcome = record_error(request, before);
  begin
    if error.status is not null then
      return error;
    end if;

    delete from contributors where id = request.target;
    return done(request, caller, before, answer => schedule_removal(before));
  end
$$;
