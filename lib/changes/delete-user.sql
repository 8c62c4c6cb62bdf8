-- Leaves only ids in the rows of the ledger about a user, and only the id in rows by the user.
create function forget_user(target bigint) returns void language sql as $$
  update changes
  set asked = null, before = null, answer = null
  where
    record_id = target
    and (
      starts_with(endpoint, 'admin-users/')
      or endpoint in (
        'ops/create-user', 'ops/issue-refresh-token', 'ops/link-identity', 'sign-in/callback', 'sign-out'
      )
    );
  update changes set username = null where caller_id = target;
$$;

-- DELETE /admin-users/delete/{id}. Roles, locks and identities go with the user. Sessions stay for a while, so that the
-- answer to them can say that the user is gone. They permit nothing: no other user ever gets the same id. The ledger
-- gets no record of the user, since the deletion is for good.
create function delete_user(request request, caller caller) returns outcome language plpgsql as $$
  declare
    before json = user_record(request.target);
    error outcome = record_error(request, before);
  begin
    if error.status is not null then
      return error;
    end if;
    if outranks(request.target, caller.id)
      or must_stay_administrator(request.target, caller.id, ids(before -> 'roles'))
    then
      return refused(403);
    end if;

    delete from users where id = request.target;
    perform forget_user(request.target);
    if caller.id = request.target then
      caller.username = null;
    end if;
    return done(request, caller, answer => schedule_removal(before));
  end
$$;
