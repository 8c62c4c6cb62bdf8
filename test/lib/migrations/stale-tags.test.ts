import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { defaultName as owner } from "../../../infra/local/database.ts";
import { identifier, openDatabase, type Sql } from "../../support/database.ts";

/* The cache tags that a transaction leaves, written by a program that knows nothing of them. */

const database = `tags_${randomUUID().replaceAll("-", "")}`;
/** Its role: it may write every table but those of the history. */
const program = `program_${randomUUID().replaceAll("-", "")}`;
const admin = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
let sql: Sql;

/** A row of history_tables(), with the columns that can be written, and of these the first text that is recorded. */
interface Table {
  readonly name: string;
  readonly kind: string;
  readonly owner: string;
  readonly tags: readonly string[];
  readonly columns: readonly string[];
  readonly text: string | null;
}

let tables: readonly Table[];

beforeAll(async () => {
  await admin`create database ${identifier(database)} template demo`;
  await admin`create role ${identifier(program)}`;
  sql = openDatabase(`${inject("databaseUrl")}/${database}`);
  // No record of the demo's belongs to this client.
  await sql`insert into clients values (99, 'Last')`;
  await sql`insert into former_slugs select 'former', max(id) from contributors`;
  await sql`insert into former_external_ids select 'former', max(id) from contributors`;
  await sql`insert into identities select 'https://issuer.example', 'subject', max(id) from users`;
  await sql.query(`
    delete from stale_tags;
    grant all on all tables in schema public to ${program};
    revoke all on stale_tags, history, changes from ${program};
    grant execute on all functions in schema public to ${program}
  `);
  tables = await sql<Table[]>`
    select
      table_name as name, kind, owner, tags,
      array_agg(attname::text order by attnum) as columns,
      (array_agg(attname::text order by attnum) filter (
        where atttypid = 'text'::regtype and attname <> all(derived)
      ))[1] as text
    from history_tables() join pg_attribute on attrelid = table_name::regclass
    where attnum > 0 and not attisdropped and attgenerated = ''
    group by table_name, kind, owner, tags
  `;
});

afterAll(async () => {
  await sql.end();
  await admin`drop database ${identifier(database)} with (force)`;
  await admin`drop role ${identifier(program)}`;
  await admin.end();
});

class Undone extends Error {}

interface Written {
  /** What the superuser does before, without any trigger. */
  readonly first?: string;
  readonly by?: string;
}

/** What the statements leave before all is rolled back: tags, and those that follow from the rows of the history. */
async function left(statements: string, { first = "", by = program }: Written = {}) {
  let tags: string[] = [];
  let following: string[] = [];
  const work = sql.begin(async (transaction) => {
    await transaction.query(`set local session_replication_role = replica; ${first}`);
    await transaction.query(`set local session_replication_role = origin; set local session authorization ${by}`);
    await transaction.query(statements);
    await transaction`reset session authorization`;
    const rows = await transaction<{ tag: string }[]>`
      select tag from stale_tags where transaction = pg_current_xact_id()
    `;
    tags = rows.map(({ tag }) => tag).sort();
    const recorded = await transaction<{ tags: string[]; owners: number[] }[]>`
      select tags, array_remove(array[row.owner, cast(before ->> listed.owner as bigint)], null) as owners
      from
        changes
        join changed_rows as row on change_id = changes.id
        join history_tables() as listed using (table_name)
      where transaction = pg_current_xact_id()
    `;
    following = [...new Set(recorded.flatMap((row) => completed(row.tags, row.owners)))].sort();
    throw new Undone();
  });
  await expect(work).rejects.toThrow(Undone);
  return { tags, following };
}

const completed = (tags: readonly string[], owners: readonly number[]) =>
  tags.flatMap((tag) => (tag.endsWith("-") ? owners.map((id) => tag + id) : [tag]));

/** Statements that write the last row of a table, what comes before each, and the records whose tags it must leave. */
async function statementsOf({ name, kind, owner: column, columns, text }: Table) {
  const [row] = await sql.query(`select ctid::text as place, ${column} as id from ${name} order by ctid desc limit 1`);
  const records = tables.find((each) => each.kind === kind && each.owner === "id")?.name;
  const [other] = await sql.query(`select id from ${records} where id <> ${row?.id} order by id limit 1`);
  const [owners, where] = [[row?.id], `where ctid = '${row?.place}'`];
  const copy = `create temporary table copied as select ${columns} from ${name} ${where}; grant select on copied to public`;
  const insert = `insert into ${name} (${columns}) overriding system value select * from copied`;
  const alone = `delete from ${name} where ctid <> (select max(ctid) from ${name})`;
  const move = `update ${name} set ${column} = ${other?.id} ${where}`;
  return [
    { first: `${copy}; delete from ${name} ${where}`, statement: insert, owners },
    { statement: `delete from ${name} ${where}`, owners },
    ...(text ? [{ statement: `update ${name} set ${text} = coalesce(${text}, '') || 'x' ${where}`, owners }] : []),
    ...(column === "id" ? [] : [{ first: alone, statement: move, owners: [row?.id, other?.id] }]),
  ];
}

describe("Each table of the history leaves the tags of its line", () => {
  it.each([true, false])("of each statement, whether it is recorded: %s", async (isRecorded) => {
    for (const table of tables)
      for (const { first = "", statement, owners } of await statementsOf(table)) {
        const { tags, following } = isRecorded
          ? await left(statement, { first })
          : await left(`set local colophon.recording = off; ${statement}`, { first, by: owner });

        expect([statement, tags]).toEqual([statement, expect.arrayContaining(completed(table.tags, owners))]);
        expect([statement, following]).toEqual([statement, isRecorded ? tags : []]);
      }
  });

  it("of nothing that a statement leaves as it was, and everything of a truncation", async () => {
    for (const { name, owner: column, tags } of tables) {
      const same = [`update ${name} set ${column} = ${column}`, `delete from ${name} where false`];
      if (column === "id") same.shift();
      expect([name, await left(same.join(";"))]).toEqual([name, { tags: [], following: [] }]);
      const truncated = await left(`truncate ${name} cascade`);
      expect([name, truncated.tags]).toEqual([name, tags.length > 0 ? ["everything"] : expect.any(Array)]);
    }
  });
});

describe("A transaction", () => {
  const many = (from: number, to: number) => `
    insert into publishers (id, name, slug) overriding system value
    select n, 'n' || n, 'n' || n from generate_series(${from}, ${to}) as n;
  `;
  const links = (ids: string) => `
    insert into contributor_links (contributor_id, position, url)
    select id, 1000 + number, 'http://n' from generate_series(1, 100) as number, (${ids}) as owner (id);
  `;
  const tagsOf = async (statements: string, by = program) => (await left(statements, { by })).tags;

  it("leaves up to fifty tags, each once, and instead of more the one for everything", async () => {
    expect(await tagsOf(many(100_001, 100_049))).toHaveLength(50);
    expect(
      await tagsOf(`${many(100_001, 100_049)} update publishers set country = 'x' where id > 100000`),
    ).toHaveLength(50);
    expect(await tagsOf(many(100_001, 100_050))).toEqual(["everything"]);
    expect(await tagsOf(`${many(100_001, 100_020)} ${many(100_021, 100_060)} delete from volumes`)).toEqual([
      "everything",
    ]);
    expect(await tagsOf(`delete from volumes; truncate series_tags; delete from publisher_aliases`)).toEqual([
      "everything",
    ]);
    expect(await tagsOf(links("select min(id) from contributors"))).toEqual([
      expect.stringMatching(/^contributor-\d+$/),
    ]);
  });

  it("leaves everything for more than fifty rows that its owner does not record, and nobody else may choose so", async () => {
    const off = "set local colophon.recording = off;";
    const ids = "select min(id) from contributors union all select max(id) from contributors";
    expect(await tagsOf(off + links(ids), owner)).toEqual(["everything"]);
    expect(await left(off + links(ids))).toEqual({
      tags: [expect.any(String), expect.any(String)],
      following: [expect.any(String), expect.any(String)],
    });
  });

  it("writes the one for everything once, whatever follows", async () => {
    const work = sql.begin(async (transaction) => {
      const place = () => transaction`select ctid::text, tag from stale_tags where transaction = pg_current_xact_id()`;
      await transaction`truncate series_tags`;
      const before = await place();

      await transaction`update publishers set country = 'x' where id = (select min(id) from publishers)`;

      expect(before).toMatchObject([{ tag: "everything" }]);
      expect(await place()).toEqual(before);
      throw new Undone();
    });
    await expect(work).rejects.toThrow(Undone);
  });

  it("waits for no other one, nor for what empties the table", async () => {
    const rename = (transaction: Sql, edge: "min" | "max") =>
      transaction.query(
        `update publishers set name = '${randomUUID()}' where id = (select ${edge}(id) from publishers)`,
      );
    await sql.begin(async (first) => {
      await rename(first, "min");
      await sql.begin(async (second) => {
        await second`set local lock_timeout = '5s'`;
        await rename(second, "max");
        await sql.begin(async (third) => {
          await third`set local lock_timeout = '5s'`;
          await third`delete from stale_tags`;
          await rename(first, "min");
          await second`update volumes set nsfw = 1 - nsfw`;
        });
      });
    });

    const rows =
      await sql`select count(distinct transaction)::int, array_agg(tag) @> '{series}' as both from stale_tags`;
    expect(rows).toEqual([{ count: 2, both: true }]);
  });
});
