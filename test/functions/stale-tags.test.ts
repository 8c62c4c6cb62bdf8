import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { defaultName as owner } from "../../infra/local/database.ts";
import { aContributor, aPublisher, aSeries, type Entry } from "../support/catalogue.ts";
import { openDatabase, type Sql, values } from "../support/database.ts";
import { deleteRow, insertRow, pick, updateRow, valueFor, worldOf, writableColumns } from "../support/random-rows.ts";
import { useStack } from "../support/stack.ts";

/* The cache tags that changes leave, and whether the responses that they change have one of them. */

const stack = useStack({ from: "demo" });

const takeTags = async () => (await values(stack.sql`delete from stale_tags returning tag`)).sort();

/** A program that knows nothing of tags: its role may write every table but those of the history. */
const program = `program_${randomUUID().replaceAll("-", "")}`;
/** The database as a superuser, who may take any role. */
let superuser: Sql;

beforeAll(async () => {
  superuser = openDatabase(`${inject("databaseUrl")}/${process.env.DATABASE_NAME}`);
  await superuser.query(`
    create role ${program};
    grant all on all tables in schema public to ${program};
    revoke all on stale_tags, history, changes from ${program};
    grant execute on all functions in schema public to ${program}
  `);
});

afterAll(async () => {
  await superuser.query(`drop owned by ${program}; drop role ${program}`);
  await superuser.end();
});

class Undone extends Error {}

/** The tags that statements leave, before all is rolled back. */
async function tagsOf(statements: string, by = program): Promise<string[]> {
  let tags: string[] = [];
  const work = superuser.begin(async (transaction) => {
    await transaction.query(`set local session authorization ${by}`);
    await transaction.query(statements);
    await transaction`reset session authorization`;
    tags = (await values(transaction`select tag from stale_tags where transaction = pg_current_xact_id()`)).sort();
    throw new Undone();
  });
  await expect(work).rejects.toThrow(Undone);
  return tags;
}

it("Each table of the history leaves no tag of what a statement leaves as it was, and everything of a truncation", async () => {
  const tables = await stack.sql`select table_name as name, owner, tags from history_tables()`;
  for (const { name, owner: column, tags } of tables) {
    const same = column === "id" ? [] : [`update ${name} set ${column} = ${column}`];
    expect([name, await tagsOf([...same, `delete from ${name} where false`].join(";"))]).toEqual([name, []]);
    const truncated = await tagsOf(`truncate ${name} cascade`);
    expect([name, truncated]).toEqual([name, tags.length > 0 ? ["everything"] : expect.any(Array)]);
  }
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

  const fifty = many(100_001, 100_049);

  it.each([
    { what: "of one statement", statements: fifty },
    { what: "of rows that change twice", statements: `${fifty} update publishers set country = 'x' where id > 100000` },
  ])("leaves up to fifty tags $what, each once", async ({ statements }) => {
    expect(await tagsOf(statements)).toHaveLength(50);
  });

  it.each([
    { what: "of one statement", statements: many(100_001, 100_050) },
    {
      what: "of several statements",
      statements: `${many(100_001, 100_020)} ${many(100_021, 100_060)} delete from volumes`,
    },
    {
      what: "of a truncated table",
      statements: "delete from volumes; truncate series_tags; delete from publisher_aliases",
    },
  ])("leaves the tag for everything instead of more than fifty $what", async ({ statements }) => {
    expect(await tagsOf(statements)).toEqual(["everything"]);
  });

  it("leaves one tag for a hundred rows of one record", async () => {
    const tags = await tagsOf(links("select min(id) from contributors"));

    expect(tags).toEqual([expect.stringMatching(/^contributor-\d+$/)]);
  });

  describe("without recording", () => {
    const off = "set local colophon.recording = off;";
    const ids = "select min(id) from contributors union all select max(id) from contributors";

    it("leaves the tag for everything for more than fifty rows of the owner", async () => {
      expect(await tagsOf(off + links(ids), owner)).toEqual(["everything"]);
    });

    it("leaves the tags of each record where another user asks for that", async () => {
      expect(await tagsOf(off + links(ids))).toHaveLength(2);
    });
  });

  it("writes the one for everything once, whatever follows", async () => {
    const work = superuser.begin(async (transaction) => {
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
        `update publishers set name = name || '${randomUUID()}' where id = (select ${edge}(id) from publishers)`,
      );
    await superuser.begin(async (first) => {
      await rename(first, "min");
      await superuser.begin(async (second) => {
        await second`set local lock_timeout = '5s'`;
        await rename(second, "max");
        await superuser.begin(async (third) => {
          await third`set local lock_timeout = '5s'`;
          await third`delete from stale_tags`;
          await rename(first, "min");
          await second`update volumes set nsfw = 1 - nsfw where id = (select min(id) from volumes)`;
        });
      });
    });

    const rows =
      await stack.sql`select count(distinct transaction)::int, array_agg(tag) @> '{series}' as both from stale_tags`;
    expect(rows).toEqual([{ count: 2, both: true }]);
  });
});
describe("Whatever public response a write changes", () => {
  const count = 2;
  const steps = 12;
  let people: Entry[];
  let houses: Entry[];
  let books: Entry[];

  beforeAll(async () => {
    await stack.sql`truncate contributors, publishers, series, tags cascade`;
    const some = <Item>(make: () => Promise<Item>) => Promise.all(Array.from({ length: count }, make));
    people = await some(() => aContributor(stack.sql));
    houses = await some(() => aPublisher(stack.sql));
    await stack.sql`insert into former_slugs values ('former', ${people[0]?.id})`;
    books = await Promise.all(people.map((by, index) => aSeries(stack.sql, { by, from: houses[index] as Entry })));
  });

  const urls = () => [
    "/contributors?client=1&limit=9",
    "/contributors?client=2&limit=9&order=added-desc&search=alias",
    "/publishers?limit=9",
    "/publishers?limit=9&search=alias",
    "/contributor/slug/former",
    "/series?client=1&limit=9",
    "/series?client=2&limit=9&order=added-desc&search=alias",
    "/series/letters?client=1",
    ...books.flatMap(({ slug }) => [`/series/slug/${slug}`, `/series/slug/${slug}?client=1`]),
    ...people.flatMap(({ id, slug }) => [`/contributor/slug/${slug}`, `/contributor/works/${id}?client=1&limit=9`]),
    ...houses.flatMap(({ id, slug }) => [`/publisher/slug/${slug}`, `/publisher/publications/${id}?client=1&limit=9`]),
  ];

  /** What a cache has of each address; not a random series, of which another one may be shown each time. */
  async function results() {
    const found = await Promise.all(
      urls().map(async (url) => {
        const response = await fetch(stack.url + url);
        const text = await response.text();
        const tags = response.headers.get("Cache-Tag")?.split(",") ?? [];
        expect([url, response.status, tags.length > 0]).toEqual([url, response.status, response.status === 200]);
        return [url, { text: text.replace(/"random_series":(null|\{.*?\}),?/g, ""), tags }] as const;
      }),
    );
    return new Map(found);
  }

  const world = () => worldOf(stack.sql);

  it("has one of the tags that the write leaves, and everything of a write without recording", async () => {
    const tables = Map.groupBy(await writableColumns(stack.sql), ({ table }) => table);
    for (const table of ["users", "user_roles", "identities", "roles", "role_permissions", "permissions"])
      tables.delete(table);
    const columns = [...tables.values()].flat();
    // Each column is updated, in a row of each table another program has added, and then rows are deleted.
    const writes: readonly ((number: number) => Promise<unknown>)[] = [
      ...[...tables.values()].map(
        (own) => async (number: number) => insertRow(stack.sql, own, number, (await world()).idsOf),
      ),
      ...columns.map((column) => async (number: number) => {
        const { of, idsOf } = await world();
        await updateRow(stack.sql, column, valueFor(column, number, idsOf), pick(of(column.table), number));
      }),
      ...[...tables.keys()].map(
        (table) => async (number: number) => deleteRow(stack.sql, table, pick((await world()).of(table), number)),
      ),
    ];
    const random = fc.sample(fc.tuple(fc.nat(writes.length - 1), fc.nat(999)), { numRuns: steps });
    let seen = await results();
    let changed = 0;
    for (const [index, number] of [...[...writes.keys()].map((index) => [index, index] as const), ...random]) {
      await takeTags();

      await writes[index]?.(number);

      const tags = await takeTags();
      const latest = await results();
      for (const [url, { text, tags: known }] of seen) {
        if (known.length === 0 || latest.get(url)?.text === text) continue;
        changed++;
        expect([index, url, known, tags]).toEqual([
          index,
          url,
          known,
          expect.toSatisfy(() => tags.includes("everything") || known.some((tag) => tags.includes(tag))),
        ]);
      }
      seen = latest;
    }
    expect(changed).toBeGreaterThan(writes.length / 2);

    const load = openDatabase(`${inject("ownerUrl")}/${process.env.DATABASE_NAME}`, {
      settings: { "colophon.recording": "off" },
    });
    await takeTags();
    await load`update publishers set country = 'x'`;
    await load.end();
    expect(await takeTags()).toEqual(["everything"]);
  });
});
