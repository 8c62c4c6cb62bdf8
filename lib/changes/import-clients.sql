-- Adds and edits clients.
create function import_clients(items jsonb) returns import_result language plpgsql as $$
  declare
    lines import_line[] = array(
      select jsonb_populate_record(
        cast(null as import_line), item || jsonb_build_object('is_new', clients.id is null)
      )
      from
        jsonb_array_elements(items) with ordinality as listed (item, place)
        left join clients on clients.id = cast(item ->> 'id' as bigint)
      order by place
    );
    edited bigint[] = array(
      select clients.id
      from clients join unnest(lines) as line on line.id = clients.id
      where line.name <> clients.name
    );
  begin
    insert into clients (id, name) select line.id, line.name from unnest(lines) as line where line.is_new;
    update clients
    set name = line.name
    from unnest(lines) as line
    where clients.id = line.id and clients.name <> line.name;
    return import_result('client', lines, cardinality(edited), '[]', '{}');
  end
$$;
