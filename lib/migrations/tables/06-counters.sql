-- Exact numbers of rows, kept beside the rows by statement-level triggers: counting on every request would make lists
-- slower as the catalogue grows. A number is the sum of its parts. A transaction adds to a part that no other one is
-- writing, or begins a new one, so writers never wait for one another here, nor deadlock. There are as many parts as
-- there were writers at once.
create table counters (
  id bigint generated always as identity primary key,
  subject text not null,
  scope bigint not null,
  total bigint not null
);

create index counters_by_subject on counters (subject, scope);

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
              with change as (
                select counted.subject, counted.scope, sum(number) as number
                from (%s) as row cross join lateral (values %s) as counted (subject, scope)
                where counted.subject is not null
                group by counted.subject, counted.scope
                having sum(number) <> 0
              ), unlocked as (
                select change.*, part.id
                from
                  change
                  left join lateral (
                    select id
                    from counters
                    where counters.subject = change.subject and counters.scope = change.scope
                    limit 1
                    for update skip locked
                  ) as part on true
              ), updated as (
                update counters set total = total + number from unlocked where counters.id = unlocked.id
              )
              insert into counters (subject, scope, total)
              select subject, scope, number from unlocked where id is null;
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
          case when event <> 'delete' then 'select 1 as number, * from added' end,
          case when event <> 'insert' then 'select -1 as number, * from removed' end
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
