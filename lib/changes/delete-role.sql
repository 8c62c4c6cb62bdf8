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
  begin
    select * into fields from roles where id = request.target;
    if fields.is_default = 1 then
      return refused(405);
    end if;

    if coalesce(fields.key = 'administrator', false)
      or strips_outranking_user(caller.id, request.target, permissions_of(array[request.target]))
      or must_not_grant(caller.id, default_role()) and is_last_role(request.target)
    then
      return refused(403);
    end if;
    if not exists (select from roles where is_default = 1) then
      return refused(500);
    end if;

    delete from roles where id = request.target;
    return done(request, caller);
  end
$$;
