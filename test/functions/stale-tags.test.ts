import fc from "fast-check";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { aContributor, aPublisher, aSeries, type Entry } from "../support/catalogue.ts";
import { openDatabase } from "../support/database.ts";
import { deleteRow, insertRow, pick, updateRow, valueFor, writableColumns } from "../support/random-rows.ts";
import { useStack } from "../support/stack.ts";
import { rowsOf } from "../support/undo.ts";

/* The cache tags that changes leave, and whether the responses that they change have one of them. */

const stack = useStack();

const takeTags = async () =>
  (await stack.sql<{ tag: string }[]>`delete from stale_tags returning tag`).map(({ tag }) => tag).sort();

describe("Whatever public response a write changes", () => {
  const count = 3;
  const steps = 12;
  let people: Entry[];
  let houses: Entry[];

  beforeAll(async () => {
    await stack.sql`truncate contributors, publishers, series, tags cascade`;
    const some = <Item>(make: () => Promise<Item>) => Promise.all(Array.from({ length: count }, make));
    people = await some(() => aContributor(stack.sql));
    houses = await some(() => aPublisher(stack.sql));
    await stack.sql`insert into former_slugs values ('former', ${people[0]?.id})`;
    for (const [index, by] of people.entries()) await aSeries(stack.sql, { by, from: houses[index] as Entry });
  });

  const urls = () => [
    "/contributors?client=1&limit=9",
    "/contributors?client=2&limit=9&order=added-desc&search=alias",
    "/publishers?limit=9",
    "/publishers?limit=9&search=alias",
    "/contributor/slug/former",
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

  /** Rows of the catalogue, some of which the addresses show. */
  async function rows() {
    const all = Object.entries(await rowsOf(stack.sql));
    const of = (table: string) => all.flatMap(([name, row]) => (name.startsWith(`${table} `) ? [row] : []));
    return { of, idsOf: (table: string) => of(table).map(({ id }) => Number(id)) };
  }

  it("has one of the tags that the write leaves, whether it is recorded", { timeout: 240_000 }, async () => {
    const unrecorded = openDatabase(`${inject("ownerUrl")}/${process.env.DATABASE_NAME}`, {
      settings: { "colophon.recording": "off" },
    });
    const sqlOf = (number: number) => (number % 2 === 0 ? stack.sql : unrecorded);
    const tables = Map.groupBy(await writableColumns(stack.sql), ({ table }) => table);
    for (const table of ["users", "user_roles", "identities", "roles", "role_permissions", "permissions"])
      tables.delete(table);
    const columns = [...tables.values()].flat();
    // Each column is updated, in a row of each table another program has added, and then rows are deleted.
    const writes: readonly ((number: number) => Promise<unknown>)[] = [
      ...[...tables.values()].map(
        (own) => async (number: number) => insertRow(sqlOf(number), own, number, (await rows()).idsOf),
      ),
      ...columns.map((column) => async (number: number) => {
        const { of, idsOf } = await rows();
        await updateRow(sqlOf(number), column, valueFor(column, number, idsOf), pick(of(column.table), number));
      }),
      ...[...tables.keys()].map(
        (table) => async (number: number) => deleteRow(sqlOf(number), table, pick((await rows()).of(table), number)),
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
    await unrecorded.end();
    expect(changed).toBeGreaterThan(writes.length / 2);
  });
});
