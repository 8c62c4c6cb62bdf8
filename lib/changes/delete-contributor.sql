-- DELETE /admin-contributors/delete/{id}. All that belongs to the contributor goes with it.
create function delete_contributor(request request) returns outcome language plpgsql as $$
  declare
    before json = contributor_record(request.target);
  begin
    if objection(request, before) > 0 then
      return refused(objection(request, before));
    end if;

    delete from contributors where id = request.target;
    return done(request, before, answer => give_up_image(before));
  end
$$;
