-- How many elements a record may have, by the list of all tables (history_tables, lib/migrations/history.sql).

-- Which list of one of these records has more rows than it may have, or null.
create function excess(record_kind text, owners bigint[]) returns text language plpgsql stable as $$
  declare
    list_table text;
    owner_column text;
    max_rows bigint;
    found_excess text;
  begin
    for list_table, owner_column, max_rows in
      select table_name, listed.owner, listed.max
      from history_tables() as listed
      where kind = record_kind and listed.max is not null
    loop
      execute format(
        $sql$
          select format('%%s %%s would have %%s %%s, and can have %%s', $2, %1$I, count(*), $3, $4)
          from %2$I where %1$I = any($1) group by %1$I having count(*) > $4 limit 1
        $sql$,
        owner_column, list_table
      )
      into found_excess
      using owners, initcap(record_kind), regexp_replace(list_table, '^' || record_kind || '_', ''), max_rows;
      exit when found_excess is not null;
    end loop;
    return found_excess;
  end
$$;
