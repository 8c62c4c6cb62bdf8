-- Locks the contributors that lines name, in one order. Else an editor of one could wait for a name that an earlier
-- line has taken, while a later line waits for the editor.
create function lock_contributors(records jsonb) returns void language plpgsql as $$
  begin
    perform
    from contributors
    where id = any(array(select cast(value ->> 'id' as bigint) from jsonb_each(records -> 'contributors')))
    order by id
    for no key update;
  end
$$;

-- Whether each line is about another record, so that all can be written at once.
create function are_independent(lines import_line[], records jsonb) returns boolean language plpgsql as $$
  begin
    return not exists (
      select
      from unnest(lines)
      where object ? 'id'
      group by table_name, record_id(records, table_name, object ->> 'id', number)
      having count(*) > 1
    );
  end
$$;

-- Refuses lines of a client's file that name a record of another client, or a shared one.
create function expect_own_records(records jsonb, client bigint) returns void language plpgsql as $$
  declare
    foreign_record text = (
      select concat_ws(' ', kind, name)
      from
        jsonb_each(records) as by_table (table_name, named)
        join history_tables() using (table_name)
        cross join lateral jsonb_each(named) as named_record (name, record)
      where record -> 'id' = 'null'
      order by kind, name
      limit 1
    );
  begin
    if foreign_record is not null then
      raise integrity_constraint_violation
        using message = format('The line names the %s, which does not belong to client %s', foreign_record, client);
    end if;
  end
$$;

-- Writes lines as if nothing were wrong. If the database refuses them, they are written in parts (of as many lines as
-- there are parts), and then a refused part line by line. A line is refused by what the database says of it. A
-- violation that a function raises has no constraint, and says its reason itself.
create function import_lines(lines import_line[], client bigint) returns setof import_outcome language plpgsql as $$
  declare
    records jsonb = imported_records(lines, client);
    outcomes import_outcome[];
    refusing_table text;
    refusing_constraint text;
    refusing_column text;
    reason text;
    part import_line[];
    part_size bigint = case when cardinality(lines) > 16 then ceil(sqrt(cardinality(lines))) else 1 end;
  begin
    perform lock_contributors(records);
    if are_independent(lines, records) then
      begin
        perform expect_own_records(records, client);
        outcomes = array(select outcome from write_lines(lines, records) as outcome);
        return query select * from unnest(outcomes);
        return;
      exception
        when integrity_constraint_violation then
          get stacked diagnostics
            refusing_table = table_name, refusing_constraint = constraint_name, refusing_column = column_name;
          reason = sqlerrm;
        when cardinality_violation then
          refusing_table = '';
          reason = 'A list has two elements of one record';
      end;
    end if;
    if cardinality(lines) <= 1 then
      if refusing_table <> '' then
        reason = constraint_sentence(refusing_table, refusing_constraint, refusing_column);
      end if;
      return query
        select number, table_name, cast(null as bigint), 'refused', cast(null as bigint), false, reason
        from unnest(lines);
      return;
    end if;
    for part in
      select array_agg(line order by number)
      from (
        select line, number, (row_number() over (order by number) - 1) / part_size as part_number
        from unnest(lines) as line
      ) as numbered
      group by part_number
      order by part_number
    loop
      return query select * from import_lines(part, client);
    end loop;
  end
$$;
