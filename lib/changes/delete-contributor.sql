-- DELETE /admin-contributors/delete/{id}. All its rows in other tables go with it.
create function delete_contributor(request request) returns outcome language plpgsql as $$
  declare
    before json = contributor_record(request.target);
  begin
    if record_error(request, before) > 0 then
      return refused(record_error(request, before));
    end if;

    delete from contributors where id = request.target;
    return done(request, before, answer => schedule_removal(before));
  end
$$;
