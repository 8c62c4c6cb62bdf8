-- Whether another contributor has this name and disambiguation. It locks the name: another request for it waits here.
create function is_name_taken(fields contributors) returns boolean language plpgsql as $$
  declare
    first_key text = identity_key(fields.first_name);
    last_key text = identity_key(fields.last_name);
  begin
    perform lock_name('contributor ' || first_key || chr(10) || last_key);
    return exists (
      select
      from contributors
      where
        identity_key(first_name) = first_key
        and identity_key(last_name) = last_key
        and identity_key(disambiguation) = identity_key(fields.disambiguation)
    );
  end
$$;

-- POST /admin-contributors/add
create function add_contributor(request request, caller caller) returns outcome language plpgsql as $$
  declare
    fields contributors = json_populate_record(cast(null as contributors), request.input);
    added bigint;
  begin
    fields.client_id = request.input ->> 'client';
    if fields.client_id is not null then
      if not exists (select from clients where id = fields.client_id) then
        return invalid('client', 'unknown');
      end if;
    end if;
    if is_name_taken(fields) then
      return refused(409);
    end if;

    insert into contributors (first_name, last_name, disambiguation, sort_name, slug, client_id)
    values (
      fields.first_name, fields.last_name, fields.disambiguation,
      nullif(fields.sort_name, default_sort_name(fields.first_name, fields.last_name)), fields.slug, fields.client_id
    )
    returning id into added;
    return done(request, caller, to_json(added), takes_authority => false);
  end
$$;
