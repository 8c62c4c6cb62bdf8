import postgres, { type Sql, type TransactionSql } from "postgres";
import { inBulk } from "./bulk.ts";
import { firstName, word } from "./made-up.ts";

type Report = (line: string) => void;
/** Consecutive numbers or ids. */
interface Span {
  readonly first: number;
  readonly count: number;
}
/** Adds one or more rows for each number of a span. */
type Add = (sql: TransactionSql, first: number, last: number) => Promise<unknown>;

const batch = 100_000;

/** Adds so many made-up contributors, half as many series and a hundredth as many publishers. */
export async function scale(databaseUrl: string, contributors: number, report: Report): Promise<void> {
  const sql = postgres(databaseUrl, { max: 2, onnotice: () => {} });
  try {
    await sql`insert into clients (id, name) values (1, 'First'), (2, 'Second') on conflict do nothing`;
    const first = (await highest(sql, "contributors")) + 1;
    const addPeople = () => addRecords(sql, "contributors", { first, count: contributors }, addContributors, report);
    const addWorks = async () => {
      const houses = { first, count: Math.ceil(contributors / 100) };
      const publishers = await addRecords(sql, "publishers", houses, addPublishers, report);
      const series = await addRecords(sql, "series", { first, count: Math.ceil(contributors / 2) }, addSeries, report);
      await add(sql, "volumes", series, addVolumes, report);
      return { publishers, series };
    };
    const [people, { publishers, series }] = await Promise.all([addPeople(), addWorks()]);
    await add(sql, "series_contributors", people, relateContributors(series), report);
    await add(sql, "series_publishers", series, relatePublishers(publishers), report);
    await sql`vacuum analyze tallies`;
  } finally {
    await sql.end();
  }
}

/** Adds records by their numbers, and gives their ids. */
async function addRecords(sql: Sql, table: string, numbers: Span, rows: Add, report: Report): Promise<Span> {
  const before = await highest(sql, table);
  await add(sql, table, numbers, rows, report);
  const [{ first = 0, last = 0 } = {}] = await sql<{ first: number; last: number }[]>`
    select min(id)::int as first, max(id)::int as last from ${sql(table)} where id > ${before}
  `;
  return { first, count: last - first + 1 };
}

async function highest(sql: Sql, table: string): Promise<number> {
  const [{ id = 0 } = {}] = await sql<{ id: number }[]>`select coalesce(max(id), 0)::int as id from ${sql(table)}`;
  return id;
}

/** Adds a table's rows in one transaction, so that after kill -9 all of them are there or none. */
async function add(sql: Sql, table: string, { first, count }: Span, rows: Add, report: Report): Promise<void> {
  const start = performance.now();
  // The slugs are free and the rows come with their sort keys, so the triggers that see to both row by row are not needed.
  const dispensable = await sql<{ name: string }[]>`
    select tgname as name
    from pg_trigger
    where tgrelid = ${table}::regclass and tgname in ('assign_slug', 'take_sort_keys')
  `;
  await sql.begin((transaction) =>
    inBulk(transaction, table, count, async (step) => {
      for (const { name } of dispensable) await step`alter table ${step(table)} disable trigger ${step(name)}`;
      for (let done = 0; done < count; done += batch) {
        if (done > 0) report(`  ${table}: ${done} of ${count}`);
        await rows(step, first + done, first + Math.min(done + batch, count) - 1);
      }
      for (const { name } of dispensable) await step`alter table ${step(table)} enable trigger ${step(name)}`;
    }),
  );
  await sql`vacuum analyze ${sql(table)}`;
  report(`  ${table}: ${count} in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}

const addContributors: Add = (sql, first, last) => sql`
  insert into contributors (first_name, last_name, slug, public, client_id, gender)
  select
    ${firstName(sql, sql`n`)},
    ${word(sql, sql`n`)},
    'made-up-' || n,
    true,
    case n % 10 when 0 then 2 when 1 then 2 when 2 then 1 when 3 then 1 when 4 then 1 end,
    case n % 3 when 0 then 'female' when 1 then 'male' end
  from generate_series(${first}::bigint, ${last}::bigint) as n
  on conflict do nothing
`;

const addSeries: Add = (sql, first, last) => sql`
  insert into series (name, slug, type, origin, client_id)
  select
    'The ' || ${word(sql, sql`(n * 7919)`)} || ' of ' || ${word(sql, sql`(n * 104729)`)},
    'made-up-' || n,
    (array['novel', 'manga', 'comic'])[1 + n % 3],
    (array['Japan', 'France', 'Germany', 'United Kingdom'])[1 + n % 4],
    case n % 5 when 0 then 1 when 1 then 2 end
  from generate_series(${first}::bigint, ${last}::bigint) as n
  on conflict do nothing
`;

const addVolumes: Add = (sql, first, last) => sql`
  insert into volumes (series_id, number)
  select id, 1 from series where id between ${first}::bigint and ${last}::bigint
`;

const addPublishers: Add = (sql, first, last) => sql`
  insert into publishers (name, slug, country, founding_date)
  select
    ${word(sql, sql`(n * 15485863)`)} || ' & ' || ${word(sql, sql`n`)},
    'made-up-' || n,
    (array['Japan', 'France', 'Germany', 'United Kingdom'])[1 + n % 4],
    date '1900-01-01' + cast(n % 40000 as int)
  from generate_series(${first}::bigint, ${last}::bigint) as n
  on conflict do nothing
`;

/** Every contributor gets one or two of the new series. */
const relateContributors =
  (works: Span): Add =>
  (sql, first, last) =>
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
  (sql, first, last) =>
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
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    const [{ team = 0, late = 0 } = {}] = await sql<{ team: number; late: number }[]>`
      with added as (
        insert into roles (name, description)
        select 'Team ' || n, 'Made up' from generate_series(1, ${roles}::bigint) as n
        union all
        select ${lateRole}, 'Made up'
        returning id
      )
      select min(id)::int as team, max(id)::int as late from added
    `;
    const first = (await highest(sql, "users")) + 1;
    const people = await addRecords(sql, "users", { first, count: users }, addUsers, report);
    await add(sql, "user_roles", people, giveRoles({ first: team, count: roles }, late), report);
    await sql`vacuum analyze roles, tallies`;
  } finally {
    await sql.end();
  }
}

/** The role of the users whose names come last. */
export const lateRole = "Late names";

const addUsers: Add = (sql, first, last) => sql`
  insert into users (username, slug, registered)
  select ${word(sql, sql`n`)} || n, 'made-up-' || n, now() - make_interval(mins => cast(n as int))
  from generate_series(${first}::bigint, ${last}::bigint) as n
`;

const giveRoles =
  (teams: Span, late: number): Add =>
  (sql, first, last) =>
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
