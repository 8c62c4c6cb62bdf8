-- Whether all these roles exist.
create function are_roles(requested bigint[]) returns boolean language sql stable as $$
  select array(select id from roles where id = any(requested)) @> requested
$$;

-- POST /admin-users/edit/{id}. What the input leaves out stays. A role that is both added and removed is removed. A
-- user without any gets the default role from the database.
create function edit_user(request request, caller caller) returns outcome language plpgsql as $$
  declare
    target bigint = request.target;
    fields users = json_populate_record((select person from users as person where id = target), request.input);
    before json = user_record(target);
    error outcome = record_error(request, before);
    current bigint[] = ids(before -> 'roles');
    requested bigint[] = ids(request.input -> 'added_roles');
    removed bigint[] = ids(request.input -> 'removed_roles');
    added bigint[] = without(requested, current || removed);
    remaining bigint[] = without(current || added, removed);
    changed jsonb;
  begin
    if error.status is not null then
      return error;
    end if;
    if requested <> '{}' and not are_roles(requested)
      or added <> '{}' and cardinality(remaining) > 200
    then
      return refused(400, 'added_roles');
    end if;
    if remaining = '{}' and current <> '{}' then
      remaining = default_role();
    end if;
    if outranks(target, caller.id)
      or must_not_grant(caller.id, without(remaining, current))
      or must_stay_administrator(target, caller.id, without(current, remaining))
    then
      return refused(403);
    end if;

    begin
      update users set username = fields.username, age_verified = fields.age_verified where id = target;
    exception when unique_violation then
      return refused(409);
    end;
    if added <> '{}' then
      insert into user_roles (user_id, role_id) select target, unnest(added);
    end if;
    if removed <> '{}' then
      delete from user_roles where user_id = target and role_id = any(removed);
    end if;
    delete from user_locks where user_id = target and holder_id = caller.id;
    changed = replaced(before, user_record(target));
    update users set version = version + 1 where id = target and changed <> '{}';
    return edited(request, caller, changed);
  end
$$;
