-- DELETE /admin-contributors/lock/{id}. Another's lock stays. The ledger gets no row, since no record changes.
create function release_contributor_lock(request request, caller caller) returns outcome language plpgsql as $$
  begin
    delete from contributor_locks where contributor_id = request.target and editor_id = caller.id;
    return succeeded();
  end
$$;
