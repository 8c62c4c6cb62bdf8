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

beforeAll(async () => {
  await admin`create database ${identifier(database)} template demo`;
  await admin`create role ${identifier(program)}`;
  sql = openDatabase(`${inject("databaseUrl")}/${database}`);
  await sql.query(`
    delete from stale_tags;
    grant all on all tables in schema public to ${program};
    revoke all on stale_tags, history, changes from ${program};
    grant execute on all functions in schema public to ${program}
  `);
});

afterAll(async () => {
  await sql.end();
  await admin`drop database ${identifier(database)} with (force)`;
  await admin`drop role ${identifier(program)}`;
  await admin.end();
});

class Undone extends Error {}

/** The tags that statements leave, before all is rolled back. */
async function tagsOf(statements: string, by = program): Promise<string[]> {
  let tags: string[] = [];
  const work = sql.begin(async (transaction) => {
    await transaction.query(`set local session authorization ${by}`);
    await transaction.query(statements);
    await transaction`reset session authorization`;
    const rows = await transaction<{ tag: string }[]>`
      select tag from stale_tags where transaction = pg_current_xact_id()
    `;
    tags = rows.map(({ tag }) => tag).sort();
    throw new Undone();
  });
  await expect(work).rejects.toThrow(Undone);
  return tags;
}

describe("Each table of the history", () => {
  it("leaves no tag of what a statement leaves as it was, and everything of a truncation", async () => {
    const tables = await sql`select table_name as name, owner, tags from history_tables()`;
    for (const { name, owner: column, tags } of tables) {
      const same = column === "id" ? [] : [`update ${name} set ${column} = ${column}`];
      expect([name, await tagsOf([...same, `delete from ${name} where false`].join(";"))]).toEqual([name, []]);
      const truncated = await tagsOf(`truncate ${name} cascade`);
      expect([name, truncated]).toEqual([name, tags.length > 0 ? ["everything"] : expect.any(Array)]);
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
    expect(await tagsOf(off + links(ids))).toHaveLength(2);
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
