import { Pool } from "pg";
import sql, { type Sql } from "sql-template-tag";
import { inBulk } from "./bulk.ts";
import { firstName, word } from "./generated-names.ts";

type Report = (line: string) => void;
/** Consecutive numbers or ids. */
interface Span {
  readonly first: number;
  readonly count: number;
}
/** Adds one or more rows for each number from the first to the last. */
type Add = (first: number, last: number) => Sql;

const batch = 100_000;

/** Adds so many made-up contributors, every tenth with a pen name, half as many series and a hundredth as many publishers. */
export async function scale(databaseUrl: string, contributors: number, report: Report): Promise<void> {
  const pool = openPool(databaseUrl, 2);
  try {
    await pool.query("insert into clients (id, name) values (1, 'First'), (2, 'Second') on conflict do nothing");
    const first = (await highest(pool, "contributors")) + 1;
    const addPeople = () => addRecords(pool, "contributors", { first, count: contributors }, addContributors, report);
    const addWorks = async () => {
      const houses = { first, count: Math.ceil(contributors / 100) };
      const publishers = await addRecords(pool, "publishers", houses, addPublishers, report);
      const series = await addRecords(pool, "series", { first, count: Math.ceil(contributors / 2) }, addSeries, report);
      await add(pool, "volumes", series, addVolumes, report);
      return { publishers, series };
    };
    const [people, { publishers, series }] = await Promise.all([addPeople(), addWorks()]);
    await add(pool, "contributor_aliases", people, addPenNames, report);
    await add(pool, "series_contributors", people, relateContributors(series), report);
    await add(pool, "series_publishers", series, relatePublishers(publishers), report);
    await pool.query("vacuum analyze counters");
    // Rows that were added while another transaction ran are not marked yet as visible to all.
    await pool.query("vacuum contributors, publishers, series, volumes");
  } finally {
    await pool.end();
  }
}

/** Adds records by their numbers, and gives their ids. */
async function addRecords(pool: Pool, table: string, numbers: Span, rows: Add, report: Report): Promise<Span> {
  const before = await highest(pool, table);
  await add(pool, table, numbers, rows, report);
  const { rows: spans } = await pool.query<{ first: number; last: number }>(
    `select min(id)::int as first, max(id)::int as last from ${table} where id > $1`,
    [before],
  );
  const { first, last } = spans[0] ?? { first: 0, last: 0 };
  return { first, count: last - first + 1 };
}

async function highest(pool: Pool, table: string): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(`select coalesce(max(id), 0)::int as id from ${table}`);
  return rows[0]?.id ?? 0;
}

/** Adds a table's rows in one transaction, so that after kill -9 all of them are there or none. */
async function add(pool: Pool, table: string, { first, count }: Span, rows: Add, report: Report): Promise<void> {
  const start = performance.now();
  const client = await pool.connect();
  try {
    await client.query("begin");
    // The slugs are free and the rows come with their keys, so the triggers that see to both are not needed.
    const { rows: dispensable } = await client.query<{ name: string }>(
      "select tgname as name from pg_trigger where tgrelid = $1::regclass and tgname ~ '^(assign_slug|take_sort_keys|keep_alias_keys)'",
      [table],
    );
    await inBulk(client, table, count, async () => {
      for (const { name } of dispensable) await client.query(`alter table ${table} disable trigger ${name}`);
      for (let done = 0; done < count; done += batch) {
        if (done > 0) report(`  ${table}: ${done} of ${count}`);
        await client.query(rows(first + done, first + Math.min(done + batch, count) - 1));
      }
      for (const { name } of dispensable) await client.query(`alter table ${table} enable trigger ${name}`);
    });
    await client.query("commit");
    await client.query(`vacuum analyze ${table}`);
  } finally {
    // Closed, not given back: after an error it is within a transaction.
    client.release(true);
  }
  report(`  ${table}: ${count} in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}

const addContributors: Add = (first, last) => sql`
  insert into contributors (first_name, last_name, slug, public, client_id, gender, alias_keys)
  select
    ${firstName(sql`n`)},
    ${word(sql`n`)},
    'made-up-' || n,
    true,
    case n % 10 when 0 then 2 when 1 then 2 when 2 then 1 when 3 then 1 when 4 then 1 end,
    case n % 3 when 0 then 'female' when 1 then 'male' end,
    pen_name
  from
    generate_series(${first}::bigint, ${last}::bigint) as n
    cross join lateral (select case n % 10 when 7 then lower(${penName(sql`n`)}) else '' end as pen_name) as other
  on conflict do nothing
`;

const penName = (number: Sql) => word(sql`(${number} * 31)`);

const addPenNames: Add = (first, last) => sql`
  insert into contributor_aliases (contributor_id, name)
  select id, initcap(alias_keys) from contributors where id between ${first}::bigint and ${last}::bigint and alias_keys <> ''
`;

const addSeries: Add = (first, last) => sql`
  insert into series (name, slug, type, origin, client_id)
  select
    'The ' || ${word(sql`(n * 7919)`)} || ' of ' || ${word(sql`(n * 104729)`)},
    'made-up-' || n,
    (array['novel', 'manga', 'comic'])[1 + n % 3],
    (array['Japan', 'France', 'Germany', 'United Kingdom'])[1 + n % 4],
    case n % 5 when 0 then 1 when 1 then 2 end
  from generate_series(${first}::bigint, ${last}::bigint) as n
  on conflict do nothing
`;

const addVolumes: Add = (first, last) => sql`
  insert into volumes (series_id, number)
  select id, 1 from series where id between ${first}::bigint and ${last}::bigint
`;

const addPublishers: Add = (first, last) => sql`
  insert into publishers (name, slug, country, founding_date)
  select
    ${word(sql`(n * 15485863)`)} || ' & ' || ${word(sql`n`)},
    'made-up-' || n,
    (array['Japan', 'France', 'Germany', 'United Kingdom'])[1 + n % 4],
    date '1900-01-01' + cast(n % 40000 as int)
  from generate_series(${first}::bigint, ${last}::bigint) as n
  on conflict do nothing
`;

/** Every contributor gets one or two of the new series. */
const relateContributors =
  (works: Span): Add =>
  (first, last) =>
    sql`
    insert into series_contributors (contributor_id, series_id)
    select contributors.id, series.id
    from
      contributors
      cross join generate_series(0, 1) as nth
      join series on
        series.id = ${works.first}::bigint + (
          contributors.id + nth * (1 + contributors.id % greatest(${works.count}::bigint - 1, 1))
        ) % ${works.count}::bigint
    where contributors.id between ${first}::bigint and ${last}::bigint and (nth = 0 or contributors.id % 2 = 0)
    on conflict do nothing
  `;

/** Every series gets one of the new publishers. */
const relatePublishers =
  (houses: Span): Add =>
  (first, last) =>
    sql`
    insert into series_publishers (publisher_id, series_id)
    select publishers.id, series.id
    from series join publishers on publishers.id = ${houses.first}::bigint + series.id % ${houses.count}::bigint
    where series.id between ${first}::bigint and ${last}::bigint
  `;

/**
 * Adds users and roles for measurements. Each user has one to three roles, and users whose names come last in the
 * alphabet have `lateRole` as well.
 */
export async function scaleUsers(
  databaseUrl: string,
  users: number,
  roles: number,
  report: Report = () => {},
): Promise<void> {
  const pool = openPool(databaseUrl, 1);
  try {
    const { rows } = await pool.query<{ team: number; late: number }>(sql`
      with added as (
        insert into roles (name, description)
        select 'Team ' || n, 'Made up' from generate_series(1, ${roles}::bigint) as n
        union all
        select ${lateRole}, 'Made up'
        returning id
      )
      select min(id)::int as team, max(id)::int as late from added
    `);
    const { team, late } = rows[0] ?? { team: 0, late: 0 };
    const first = (await highest(pool, "users")) + 1;
    const people = await addRecords(pool, "users", { first, count: users }, addUsers, report);
    await add(pool, "user_roles", people, giveRoles({ first: team, count: roles }, late), report);
    await pool.query("vacuum analyze roles, counters");
  } finally {
    await pool.end();
  }
}

/** The role of the users whose names come last. */
export const lateRole = "Late names";

const addUsers: Add = (first, last) => sql`
  insert into users (username, slug, registered)
  select ${word(sql`n`)} || n, 'made-up-' || n, now() - make_interval(mins => cast(n as int))
  from generate_series(${first}::bigint, ${last}::bigint) as n
`;

const giveRoles =
  (teams: Span, late: number): Add =>
  (first, last) =>
    sql`
    insert into user_roles (user_id, role_id, username_key, registered)
    select
      users.id,
      case nth when 3 then ${late}::bigint else ${teams.first}::bigint + (users.id + nth) % ${teams.count}::bigint end,
      username_key,
      registered
    from users cross join generate_series(0, 3) as nth
    where
      users.id between ${first}::bigint and ${last}::bigint
      and (nth <= users.id % 3 or nth = 3 and username_key >= 'z')
    on conflict do nothing
  `;

/** A connection closes a moment after the pool's end; an error after that has no effect. */
function openPool(connectionString: string, max: number): Pool {
  return new Pool({ connectionString, max, options: "-c colophon.recording=off" }).on("error", () => {});
}
