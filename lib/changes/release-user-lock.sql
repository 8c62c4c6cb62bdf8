-- DELETE /admin-users/lock/{id}. Another's lock stays. The ledger gets no row, since no record changes.
create function release_user_lock(request request, caller caller) returns outcome language plpgsql as $$
  begin
    delete from user_locks where user_id = request.target and editor_id = caller.id;
    return succeeded();
  end
$$;
