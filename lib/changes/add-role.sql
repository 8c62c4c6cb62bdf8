-- POST /admin-roles/add
create function add_role(request request, caller caller) returns outcome language plpgsql as $$
  declare
    fields roles = json_populate_record(cast(null as roles), request.input);
    added bigint;
  begin
    insert into roles (name, description)
    values (fields.name, fields.description)
    on conflict do nothing
    returning id into added;
    if added is null then
      return refused(409);
    end if;
    return done(request, caller, to_json(added));
  end
$$;
