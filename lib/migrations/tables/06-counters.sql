-- Exact numbers of rows, kept beside the rows by statement-level triggers: counting on every request would make lists
-- slower as the catalogue grows. Rows are touched in one order, so that concurrent writers queue and never deadlock.
create table counters (
  subject text not null,
  scope bigint not null,
  total bigint not null,
  primary key (subject, scope)
);

-- Keeps counters of a table's rows: `counted` is a list of (subject, scope), expressions over the columns of a row. A row
-- without a subject does not count. Each event has a function of its own, since not every one has both transition tables.
-- Most updates change no count, which two short queries find out in less time than the long statement takes to begin.
-- PostgreSQL lists the old and the new rows of an update in the same order.
create procedure count_rows(counted_table text, counted text, events text[]) language plpgsql as $procedure$
  declare
    event text;
    function text;
  begin
    foreach event in array events loop
      function = format('count_%s_%s()', counted_table, event);
      execute format(
        $format$
          create function %s returns trigger language plpgsql as $$
            begin
              %s
              insert into counters as current (subject, scope, total)
              select counted.subject, counted.scope, sum(change)
              from (%s) as row cross join lateral (values %s) as counted (subject, scope)
              where counted.subject is not null
              group by counted.subject, counted.scope
              having sum(change) <> 0
              order by counted.subject, counted.scope
              on conflict (subject, scope) do update set total = current.total + excluded.total;
              return null;
            end
          $$
        $format$,
        function,
        case when event = 'update' then format(
          $if$
              if array(select counted from removed cross join lateral (values %1$s) as counted (subject, scope))
                = array(select counted from added cross join lateral (values %1$s) as counted (subject, scope))
              then
                return null;
              end if;
          $if$,
          counted
        ) end,
        concat_ws(
          ' union all ',
          case when event <> 'delete' then 'select 1 as change, * from added' end,
          case when event <> 'insert' then 'select -1 as change, * from removed' end
        ),
        counted
      );
      call add_triggers(counted_table, 'count', function, array[event]);
    end loop;
  end
$procedure$;

call count_rows(
  'contributors',
  $$
    ('contributors', scope), (case when public then 'public contributors' end, scope),
    ('contributors ' || left(sort_key, 1), scope),
    (case when public then 'public contributors ' || left(sort_key, 1) end, scope)
  $$,
  '{insert, update, delete}'
);

call count_rows('publishers', $$('publishers', 0), ('publishers ' || letter, 0)$$, '{insert, update, delete}');

call count_rows(
  'series',
  $$
    ('series', scope), ('series ' || left(sort_key, 1), scope), ('series of type ' || type, scope)
  $$,
  '{insert, update, delete}'
);

call count_rows('users', $$('users', 0)$$, '{insert, delete}');

call count_rows('user_roles', $$('users of role', role_id)$$, '{insert, update, delete}');
