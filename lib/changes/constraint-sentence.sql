-- Why PostgreSQL refuses a row, as operators read it, by what its error says of the table, the constraint or unique
-- index, and the column. It follows from PostgreSQL's catalogue, so a new constraint of a recorded table needs no line
-- here. What is not known is said with its name.
create function constraint_sentence(refusing_table text, constraint_name text, column_name text) returns text
  language sql stable as $$
  with refusing as (
    select table_name, concat_ws(' ', kind, noun) as thing from history_tables() where table_name = refusing_table
  )
  select coalesce(
    (
      select case
        when contype = 'f' then format(
          'The %s would reference a %s that does not exist (%s)',
          thing, (select kind from history_tables() as parent where to_regclass(parent.table_name) = confrelid), columns
        )
        when contype = 'c' then format('The %s of the %s is not allowed (%s)', columns, thing, conname)
      end
      from
        refusing
        join pg_constraint on conrelid = to_regclass(table_name) and conname = constraint_name
        cross join lateral (
          select string_agg(cast(attname as text), ', ' order by attnum)
          from pg_attribute
          where attrelid = conrelid and attnum = any(conkey)
        ) as constrained (columns)
    ),
    (
      select format('Another %s has the same %s', thing, columns)
      from
        refusing
        join pg_index on indrelid = to_regclass(table_name) and indexrelid = to_regclass(quote_ident(constraint_name))
        cross join lateral (
          select string_agg(cast(attname as text), ', ' order by attnum)
          from pg_attribute
          where
            attrelid = indrelid
            and (attnum = any(indkey) or attnum in (
              select refobjsubid from pg_depend where objid = indexrelid and refobjid = indrelid and refobjsubid > 0
            ))
        ) as constrained (columns)
    ),
    (select 'The ' || nullif(column_name, '') || ' of the ' || thing || ' cannot be empty' from refusing),
    format('The database refuses it by %s', coalesce(nullif(constraint_name, ''), nullif(refusing_table, ''), 'a rule'))
  )
$$;
