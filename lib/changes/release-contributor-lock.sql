-- DELETE /admin-contributors/lock/{id}. Another's lock stays. The ledger gets no row, since no record changes.
create function release_contributor_lock(request request, caller caller) returns outcome language plpgsql as $$
  declare
    error outcome = record_error(request, (select version from contributors where id = request.target));
  begin
    if error.status is not null then
      return error;
    end if;
    delete from contributor_locks where contributor_id = request.target and editor_id = caller.id;
    return succeeded();
  end
$$;
