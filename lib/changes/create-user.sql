-- An operator adds a user with these roles, or with the default role. `Administrator` means the role with that key,
-- even if it has been renamed. 404 means that a role does not exist.
create function create_user(request request) returns outcome language plpgsql as $$
  declare
    wanted bigint[];
    added bigint;
  begin
    wanted = array(
      select (
        select id
        from roles
        where identity_key(given.name) in (key, identity_key(name))
        order by key is null
        limit 1
      )
      from json_array_elements_text(request.asked -> 'roles') as given (name)
    );
    if array_position(wanted, null) is not null then
      return refused(404);
    end if;
    if exists (select from users where identity_key(username) = identity_key(request.asked ->> 'username')) then
      return refused(409);
    end if;
    if wanted = '{}' then
      wanted = array(select id from roles where is_default = 1);
    end if;

    insert into users (username, slug)
    values (request.asked ->> 'username', request.asked ->> 'slug')
    returning id into added;
    insert into user_roles (user_id, role_id) select distinct added, unnest(wanted);
    return done(request, record => added, answer => (
      select row_to_json(person) from (select id, username, slug from users where id = added) as person
    ));
  end
$$;
