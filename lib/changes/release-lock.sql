-- DELETE /admin-contributors/lock/{id} and /admin-users/lock/{id}. Another's lock stays. The ledger gets no row, since
-- no record changes.
create function release_lock(request request, caller caller) returns outcome language plpgsql as $$
  begin
    if request.kind = 'users' then
      delete from user_locks where user_id = request.target and editor_id = caller.id;
    else
      delete from contributor_locks where contributor_id = request.target and editor_id = caller.id;
    end if;
    return succeeded();
  end
$$;
