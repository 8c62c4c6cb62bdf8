-- Leaves only ids of a user in the ledger: their record leaves the history, their name the changes that they made, and
-- the results of changes that name them are dropped.
create function forget_user(target bigint) returns void language plpgsql as $$
  begin
    update changes
    set result = null
    where
      id in (
        select change_id
        from history
        where owners @> array[target] and table_name in (select table_name from history_tables() where kind = 'user')
      )
      or caller_id is null
        and endpoint = 'ops/undo'
        and cast(result as text) ~ format('"(user/|userId"\W+)%s\M', target)
      or record = 'user/' || target;
    perform forget_record('user', target);
    update changes set username = null where caller_id = target and caller_id > 0;
  end
$$;

-- DELETE /admin-users/delete/{id}. Roles, locks and identities go with the user. Sessions stay for a while, so that the
-- response to them can say that the user is gone. They permit nothing: no other user ever gets the same id. The history
-- loses the record of the user, since the deletion is for good.
create function delete_user(request request, caller caller) returns outcome language plpgsql as $$
  declare
    former text;
  begin
    if must_stay_administrator(request.target, caller.id, roles_of(request.target)) then
      return refused(403);
    end if;

    delete from users where id = request.target returning image into former;
    perform forget_user(request.target);
    if caller.id = request.target then
      caller.username = null;
    end if;
    return done(request, caller, json_build_object('former', former), record => 'user/' || request.target);
  end
$$;
