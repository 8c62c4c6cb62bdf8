-- POST /admin-roles/add
create function add_role(request request) returns outcome language plpgsql as $$
  declare
    added bigint;
  begin
    insert into roles (name, description)
    values (request.asked ->> 'name', request.asked ->> 'description')
    on conflict do nothing
    returning id into added;
    if added is null then
      return refused(409);
    end if;
    return done(request, record => added);
  end
$$;
