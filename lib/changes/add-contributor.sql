-- POST /admin-contributors/add
create function add_contributor(request request) returns outcome language plpgsql as $$
  declare
    client bigint = request.asked ->> 'client';
    added bigint;
  begin
    perform lock_contributor_name(request.asked);
    if client is not null and not exists (select from clients where id = client) then
      return refused(400, 'client');
    end if;
    if is_contributor_name_taken(request.asked, null) then
      return refused(409);
    end if;

    insert into contributors (first_name, last_name, slug, client_id)
    values (request.asked ->> 'first_name', request.asked ->> 'last_name', request.asked ->> 'slug', client)
    returning id into added;
    return done(request, record => added);
  end
$$;
