-- An operator adds a user with these roles, or with the default role, and maybe with a link (identities.sql).
-- `Administrator` means the role with that key, even if it has been renamed.
create function create_user(request request) returns outcome language plpgsql as $$
  declare
    fields users = json_populate_record(cast(null as users), request.input);
    role_ids bigint[] = array(
      select (
        select id
        from roles
        where identity_key(requested.name) in (key, identity_key(name))
        order by key is null
        limit 1
      )
      from json_array_elements_text(request.input -> 'roles') as requested (name)
    );
    link json = request.input -> 'link';
    error outcome = link_error(link);
    added bigint;
  begin
    if array_position(role_ids, null) is not null then
      return refused(404, 'A role in `roles` does not exist');
    end if;
    if exists (select from users where identity_key(username) = identity_key(fields.username)) then
      return refused(409, 'The username is taken');
    end if;
    if error.status is not null then
      return error;
    end if;
    if role_ids = '{}' then
      role_ids = default_role();
    end if;

    insert into users (username, slug) values (fields.username, fields.slug) returning id into added;
    insert into user_roles (user_id, role_id) select distinct added, unnest(role_ids);
    if link is not null then
      perform add_link(link, added);
    end if;
    return done(request, null, (
      select row_to_json(person) from (select id, username, slug from users where id = added) as person
    ));
  end
$$;
