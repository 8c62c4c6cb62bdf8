-- POST /admin-roles/add
create function add_role(request request) returns outcome language plpgsql as $$
  declare
    added bigint;
  begin
    if exists (select from roles where identity_key(name) = identity_key(request.asked ->> 'name')) then
      return refused(409);
    end if;

    insert into roles (name, description)
    values (request.asked ->> 'name', request.asked ->> 'description')
    returning id into added;
    return done(request, record => added);
  end
$$;
