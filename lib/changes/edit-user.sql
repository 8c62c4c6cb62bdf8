-- POST /admin-users/edit/{id}. A role that is both added and removed ends up removed.
create function edit_user(request request) returns outcome language plpgsql as $$
  declare
    target bigint = request.target;
    asked json = request.asked;
    before json = user_record(target);
    held bigint[] = ids(before -> 'roles');
    wanted bigint[] = ids(asked -> 'added_roles');
    removed bigint[] = ids(asked -> 'removed_roles');
    added bigint[] = without(wanted, held || removed);
  begin
    if objection(request, before) > 0 then
      return refused(objection(request, before));
    end if;
    if not array(select id from roles where id = any(wanted)) @> wanted
      or added <> '{}' and cardinality(without(held || added, removed)) > 200
    then
      return refused(400, 'added_roles');
    end if;
    if outranks(target, request.caller)
      or exceeds(request.caller, array(select permission_id from role_permissions where role_id = any(added)))
      or exists (select from roles where id = any(removed) and key = 'administrator')
        and is_kept_administrator(target, request.caller)
    then
      return refused(403);
    end if;
    if exists (
      select from users where identity_key(username) = identity_key(asked ->> 'username') and id <> target
    ) then
      return refused(409);
    end if;

    update users
    set
      username = asked ->> 'username',
      age_verified = cast(asked ->> 'age_verified' as boolean),
      version = version + 1
    where id = target;
    insert into user_roles (user_id, role_id) select target, unnest(added);
    delete from user_roles where user_id = target and role_id = any(removed);
    delete from user_locks where user_id = target and holder_id = request.caller;
    return done(request, before);
  end
$$;
