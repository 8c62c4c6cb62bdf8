-- POST /admin-users/edit/{id}. What the input leaves out stays. A role that is both added and removed is removed. A
-- user without any gets the default role, or keeps it.
create function edit_user(request request, caller caller) returns outcome language plpgsql as $$
  declare
    target bigint = request.target;
    fields users;
    current bigint[] = roles_of(target);
    requested bigint[] = ids(request.input -> 'added_roles');
    removed bigint[] = ids(request.input -> 'removed_roles');
    added bigint[] = without(requested, current || removed);
    remaining bigint[] = without(current || added, removed);
    gained bigint[];
    lost bigint[];
    rule integer;
  begin
    select * into fields from users where id = target;
    if not array(select id from roles where id = any(requested)) @> requested then
      return invalid('added_roles', 'unknown');
    end if;
    if added <> '{}' and cardinality(remaining) > 200 then
      return invalid('added_roles', 'long');
    end if;
    if remaining = '{}' and current <> '{}' then
      remaining = default_role();
    end if;
    gained = without(remaining, current);
    lost = without(current, remaining);
    rule = coalesce(granting_rule(caller.id, gained), leaving_rule(target, caller.id, lost));
    if rule is not null then
      return forbidden(rule);
    end if;

    fields = json_populate_record(fields, request.input);
    if gained <> '{}' then
      insert into user_roles (user_id, role_id) select target, unnest(gained);
    end if;
    if lost <> '{}' then
      delete from user_roles where user_id = target and role_id = any(lost);
    end if;
    update users
    set username = fields.username, age_verified = fields.age_verified, version = version + 1
    where
      id = target
      and ((username, age_verified) is distinct from (fields.username, fields.age_verified) or has_changed());
    delete from user_locks where user_id = target and editor_id = caller.id;
    -- If nothing changed, only this says whose name the request's digest contains.
    return done(request, caller, record => case when not has_changed() then 'user/' || target end);
  end
$$;
