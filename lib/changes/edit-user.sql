-- Whether all these roles exist.
create function are_roles(wanted bigint[]) returns boolean language sql stable as $$
  select array(select id from roles where id = any(wanted)) @> wanted
$$;

-- POST /admin-users/edit/{id}. A role that is both added and removed is removed. A user without any gets the default
-- role from the database.
create function edit_user(request request) returns outcome language plpgsql as $$
  declare
    target bigint = request.target;
    asked json = request.asked;
    before json = user_record(target);
    held bigint[] = ids(before -> 'roles');
    wanted bigint[] = ids(asked -> 'added_roles');
    removed bigint[] = ids(asked -> 'removed_roles');
    added bigint[] = without(wanted, held || removed);
    remaining bigint[] = without(held || added, removed);
    changed jsonb;
  begin
    if record_error(request, before) > 0 then
      return refused(record_error(request, before));
    end if;
    if wanted <> '{}' and not are_roles(wanted)
      or added <> '{}' and cardinality(remaining) > 200
    then
      return refused(400, 'added_roles');
    end if;
    if remaining = '{}' and held <> '{}' then
      remaining = default_role();
    end if;
    if outranks(target, request.caller)
      or lacks_any(request.caller, permissions_of(without(remaining, held)))
      or must_stay_administrator(target, request.caller, without(held, remaining))
    then
      return refused(403);
    end if;

    begin
      update users
      set
        username = asked ->> 'username',
        age_verified = cast(asked ->> 'age_verified' as boolean)
      where id = target;
    exception when unique_violation then
      return refused(409);
    end;
    if added <> '{}' then
      insert into user_roles (user_id, role_id) select target, unnest(added);
    end if;
    if removed <> '{}' then
      delete from user_roles where user_id = target and role_id = any(removed);
    end if;
    delete from user_locks where user_id = target and holder_id = request.caller;
    changed = replaced(before, user_record(target));
    update users set version = version + 1 where id = target and changed <> '{}';
    return edited(request, changed);
  end
$$;
