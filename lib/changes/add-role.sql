-- POST /admin-roles/add
create function add_role(request request, caller caller) returns outcome language plpgsql as $$
  declare
    fields roles = json_populate_record(cast(null as roles), request.input);
    added bigint;
  begin
    insert into roles (name, description)
    values (fields.name, fields.description)
    returning id into added;
    return done(request, caller, to_json(added));
  end
$$;
