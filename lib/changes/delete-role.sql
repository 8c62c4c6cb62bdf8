-- Whether a user has no other role.
create function is_last_role(target bigint) returns boolean language sql stable as $$
  select exists (
    select
    from user_roles as membership
    where
      role_id = target
      and not exists (select from user_roles where user_id = membership.user_id and role_id <> target)
  )
$$;

-- Deletes a role. Returns it with its users, and who of them the database gives the default role, as they had no other.
create function remove_role(target bigint) returns jsonb language plpgsql as $$
  declare
    before jsonb = role_with_users(target);
    defaulted bigint[] = array(
      select user_id
      from user_roles as membership
      where
        role_id = target
        and not exists (select from user_roles where user_id = membership.user_id and role_id <> target)
      order by user_id
    );
  begin
    delete from roles where id = target;
    return before || case
      when defaulted = '{}' then '{}'
      else jsonb_build_object('default_role', (default_role())[1], 'defaulted', defaulted)
    end;
  end
$$;

-- DELETE /admin-roles/delete/{id}. Its users keep their other roles. A user without any gets the default role from the
-- database. Nobody may delete the Administrator role, not even its last user.
create function delete_role(request request, caller caller) returns outcome language plpgsql as $$
  declare
    before json = role_record(request.target);
    error outcome = record_error(request, before);
  begin
    if error.status is not null then
      return error;
    end if;
    if before ->> 'is_default' = '1' then
      return refused(405);
    end if;

    if before ->> 'key' = 'administrator'
      or strips_outranking_user(caller.id, request.target, ids(before -> 'permissions'))
      or must_not_grant(caller.id, default_role()) and is_last_role(request.target)
    then
      return refused(403);
    end if;
    if not exists (select from roles where is_default = 1) then
      return refused(500);
    end if;

    return done(request, caller, cast(remove_role(request.target) as json));
  end
$$;
