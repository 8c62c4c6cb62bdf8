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
    before jsonb[] = array(
      select to_jsonb(clients)
      from clients join unnest(lines) as line on line.id = clients.id
      where line.name <> clients.name
    );
    effects jsonb;
  begin
    insert into clients (id, name) select line.id, line.name from unnest(lines) as line where line.is_new;
    update clients
    set name = line.name
    from unnest(lines) as line
    where clients.id = line.id and clients.name <> line.name;
    effects = (
      select jsonb_agg(
        case
          when line.is_new then add_effect('client', line.name, client_record(line.id))
          else edit_effect('client', former, client_record(line.id))
        end
        order by line.number
      )
      from unnest(lines) as line left join unnest(before) as former on former -> 'id' = to_jsonb(line.id)
      where line.is_new or former is not null
    );
    return import_result('client', effects, lines, cardinality(before), '[]', '{}');
  end
$$;
