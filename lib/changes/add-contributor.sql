-- Whether another contributor has this first and last name. It locks the name: another request for it waits here.
create function is_name_taken(asked json) returns boolean language plpgsql as $$
  declare
    first_key text = identity_key(asked ->> 'first_name');
    last_key text = identity_key(asked ->> 'last_name');
  begin
    perform lock_name('contributor ' || first_key || chr(10) || last_key);
    return exists (
      select from contributors where identity_key(first_name) = first_key and identity_key(last_name) = last_key
    );
  end
$$;

-- POST /admin-contributors/add
create function add_contributor(request request) returns outcome language plpgsql as $$
  declare
    asked json = request.asked;
    client bigint = asked ->> 'client';
    added bigint;
  begin
    if client is not null and not exists (select from clients where id = client) then
      return refused(400, 'client');
    end if;
    if is_name_taken(asked) then
      return refused(409);
    end if;

    insert into contributors (first_name, last_name, slug, client_id)
    values (asked ->> 'first_name', asked ->> 'last_name', asked ->> 'slug', client)
    returning id into added;
    return done(request, record => added);
  end
$$;
