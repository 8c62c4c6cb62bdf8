-- DELETE /admin-roles/delete/{id}. Its users keep their other roles. A user without any gets the default role from the
-- database.
create function delete_role(request request) returns outcome language plpgsql as $$
  declare
    before json = role_record(request.target);
    holders bigint[];
  begin
    if record_error(request, before) > 0 then
      return refused(record_error(request, before));
    end if;
    if before ->> 'is_default' = '1' then
      return refused(405);
    end if;

    holders = array(select user_id from user_roles where role_id = request.target order by user_id);
    if before ->> 'key' = 'administrator' and (holders <> '{}' or not has_all_permissions(request.caller)) then
      return refused(403);
    end if;
    if not exists (select from roles where is_default = 1) then
      return refused(500);
    end if;

    delete from roles where id = request.target;
    return done(request, json_build_object('role', before, 'users', holders));
  end
$$;
