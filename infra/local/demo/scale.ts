import sql from "sql-template-tag";
import { withConnection } from "../../aws-local/postgres/connection.ts";
import { readCatalogue } from "./load.ts";

/** Primes, so that each number below their product makes a name of its own. */
const [firstNames, lastNames, otherNames] = [211, 193, 191];

/**
 * Adds so many made-up contributors, every tenth with a pen name, half as many series and a hundredth as many publishers.
 * Their names are put together from those of the demo data. All of them are added, or none.
 */
export async function scale(databaseUrl: string, contributors: number): Promise<void> {
  const [series, publishers] = [Math.ceil(contributors / 2), Math.ceil(contributors / 100)];
  const lines: readonly Readonly<Record<string, unknown>>[] = await readCatalogue();
  const valuesOf = (kind: string, field: string) => [
    ...new Set(lines.flatMap((line) => (line.kind === kind && line[field] ? [line[field]] : []))),
  ];
  const names = {
    first: valuesOf("contributor", "first_name"),
    last: valuesOf("contributor", "last_name"),
    series: valuesOf("series", "name"),
    publishers: valuesOf("publisher", "name"),
  };
  await withConnection(databaseUrl, async (connection) => {
    // Only the owner of the tables may switch recording off; the local server's login is a superuser.
    await connection.query(sql`
      select set_config('session_authorization', tableowner, false), set_config('colophon.recording', 'off', false)
      from pg_tables
      where schemaname = 'public' and tablename = 'contributors'
    `);
    await connection.query(sql`
      with numbers as materialized (
        select position, position + (select coalesce(max(id), 0) from contributors) as n
        from generate_series(1, ${contributors}::bigint) as position
      ), new_clients as (
        insert into clients (id, name) values (1, 'First'), (2, 'Second') on conflict do nothing
      ), new_contributors as (
        insert into contributors (first_name, last_name, slug, public, client_id, gender)
        select
          (${names.first}::text[])[1 + n % ${firstNames}],
          (${names.last}::text[])[1 + n % ${lastNames}] || ' ' || (${names.last}::text[])[1 + n % ${otherNames}],
          'made-up-' || n,
          true,
          (array[null, null, null, null, null, 1, 1, 1, 2, 2])[1 + n % 10],
          (array['female', 'male', null])[1 + n % 3]
        from numbers
        on conflict do nothing
        returning id
      ), new_series as (
        insert into series (name, slug, type, origin, client_id)
        select
          (${names.series}::text[])[1 + n % ${names.series.length}] || ' ' || n,
          'made-up-' || n,
          (array['novel', 'manga', 'comic'])[1 + n % 3],
          (array['Japan', 'France', 'Germany', 'United Kingdom'])[1 + n % 4],
          (array[null, null, null, 1, 2])[1 + n % 5]
        from numbers
        where position <= ${series}
        returning id
      ), new_publishers as (
        insert into publishers (name, slug, country, founding_date)
        select
          (${names.publishers}::text[])[1 + n % ${names.publishers.length}] || ' ' || n,
          'made-up-' || n,
          (array['Japan', 'France', 'Germany', 'United Kingdom'])[1 + n % 4],
          left(cast(date '1900-01-01' + cast(n % 40000 as int) as text), (array[4, 7, 10])[1 + n % 3])
        from numbers
        where position <= ${publishers}
        returning id
      ), people as (
        select id, row_number() over (order by id) as position from new_contributors
      ), works as (
        select id, row_number() over (order by id) - 1 as position from new_series
      ), houses as (
        select id, row_number() over (order by id) - 1 as position from new_publishers
      ), new_aliases as (
        insert into contributor_aliases (contributor_id, name)
        select id, (${names.last}::text[])[1 + id % ${lastNames}] from people where position % 10 = 7
      ), new_volumes as (
        insert into volumes (series_id, number) select id, 1 from works
      ), new_editions as (
        insert into series_publishers (publisher_id, series_id)
        select houses.id, works.id from works join houses on houses.position = works.position % ${publishers}
      )
      insert into series_contributors (contributor_id, series_id)
      select people.id, works.id
      from
        people
        cross join lateral (values (people.position), (case when people.position % 2 = 0 then 7 * people.position end)) as nth (work)
        join works on works.position = nth.work % ${series}
      on conflict do nothing
    `);
    await connection.query("vacuum analyze");
  });
}
