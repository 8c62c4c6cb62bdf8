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

-- DELETE /admin-roles/delete/{id}. Its users keep their other roles. A user without any gets the default role from the
-- database. The Administrator role cannot be deleted, not even by its last user.
create function delete_role(request request, caller caller) returns outcome language plpgsql as $$
  declare
    fields roles;
    rule integer;
  begin
    select * into fields from roles where id = request.target;
    if fields.is_default = 1 then
      return refused(405);
    end if;

    if fields.key = 'administrator' then
      return forbidden(3);
    end if;
    if strips_outranking_user(caller.id, request.target, permissions_of(array[request.target])) then
      return forbidden(2);
    end if;
    rule = granting_rule(caller.id, default_role());
    if rule is not null and is_last_role(request.target) then
      return forbidden(rule);
    end if;
    if not exists (select from roles where is_default = 1) then
      return refused(500);
    end if;

    delete from roles where id = request.target;
    return done(request, caller);
  end
$$;
