import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { aContributor, aPublisher, aSeries, type Entry } from "../support/catalogue.ts";
import { useStack } from "../support/stack.ts";

/* The cache tags that changes leave, and whether the answers that they change have one of them. */

const stack = useStack();

const takeTags = async () =>
  (await stack.sql<{ tag: string }[]>`delete from stale_tags returning tag`).map(({ tag }) => tag).sort();

it("A record has the tag of lists while somebody whom it would show is not published", async () => {
  const [ann, ben] = [await aContributor(stack.sql), await aContributor(stack.sql)];
  await stack.sql`
    insert into contributor_relations (contributor_id, relation_id, relation_type) values (${ann.id}, ${ben.id}, 'x')
  `;
  const tags = async () => {
    const { headers } = await stack.call("contributor/slug", { path: { slug: ann.slug } });
    return headers.get("Cache-Tag");
  };
  const publish = async (isPublic: boolean) => {
    await takeTags();
    await stack.sql`update contributors set public = ${isPublic} where id = ${ben.id}`;
    return await takeTags();
  };

  expect(await tags()).toBe(`contributor-${ann.id},contributor-${ben.id}`);
  expect(await publish(false)).toEqual([`contributor-${ben.id}`, "contributors"]);
  expect(await tags()).toBe(`contributor-${ann.id},contributors`);
  expect(await publish(true)).toEqual([`contributor-${ben.id}`, "contributors"]);
});

describe("Whatever public answer a write changes", () => {
  const count = 3;
  const steps = 12;
  let people: Entry[];
  let houses: Entry[];

  beforeAll(async () => {
    await stack.sql`truncate contributors, publishers, series, tags cascade`;
    const some = <Item>(make: () => Promise<Item>) => Promise.all(Array.from({ length: count }, make));
    people = await some(() => aContributor(stack.sql));
    houses = await some(() => aPublisher(stack.sql));
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
  async function answers() {
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

  const table = (kind: number) => ["contributor", "publisher"][kind % 2] as string;
  const owned = (kind: number, one: number) => (kind % 2 === 0 ? people : houses)[one % count]?.id ?? 0;
  const all = (kind: number) => (kind % 2 === 0 ? people : houses).map(({ id }) => id).join();
  const text = (seed: number) => `'alias ${seed}'`;
  const ids = (name: string, seed: number) =>
    `(select id from ${name} order by id offset ${seed} % greatest((select count(*) from ${name}), 1) limit 1)`;

  /** Statements of another program. */
  const statements: readonly ((kind: number, one: number, other: number, seed: number) => string)[] = [
    (_, one) => `update contributors set public = not public where id = ${owned(0, one)}`,
    (_, one, other) => `update contributors set public = id <> ${owned(0, other)} where id <> ${owned(0, one)}`,
    (_, one) => `update contributors set first_name = '${randomUUID()}', gender = 'x' where id = ${owned(0, one)}`,
    (kind, one, _, seed) =>
      `update ${table(kind)}s set client_id = nullif(${seed % 3}, 0) where id = ${owned(kind, one)}`,
    (kind, one, _, seed) => `update ${table(kind)}s set image = ${text(seed)} where id = ${owned(kind, one)}`,
    (_, one, __, seed) => `update publishers set name = ${text(seed)}, country = 'x' where id = ${owned(1, one)}`,
    (kind, one, _, seed) =>
      kind % 2 === 0
        ? `insert into contributor_aliases (contributor_id, name) values (${owned(0, one)}, ${text(seed)})`
        : `insert into publisher_aliases (publisher_id, title, language) values (${owned(1, one)}, ${text(seed)}, 'x')`,
    (kind, one) => `delete from ${table(kind)}_aliases where ${table(kind)}_id = ${owned(kind, one)}`,
    (kind, one, _, seed) =>
      `insert into ${table(kind)}_descriptions (${table(kind)}_id, language, description)
       values (${owned(kind, one)}, 'English', ${text(seed)})`,
    (kind, _, __, seed) =>
      `update ${table(kind)}_descriptions set description = ${text(seed)} where id % 2 = ${seed % 2}`,
    (_, one, __, seed) => `
      insert into contributor_links values (${owned(0, one)}, ${seed % 3}, 'https://${seed}.example') on conflict do nothing`,
    () => "delete from contributor_links where position = 1",
    (_, one) => `
      insert into former_slugs values ('former', ${owned(0, one)})
      on conflict (slug) do update set contributor_id = excluded.contributor_id`,
    (_, __, other) => `update former_slugs set contributor_id = ${owned(0, other)}`,
    () => "delete from former_slugs",
    (kind, one, other, seed) => `
      insert into ${table(kind)}_relations (${table(kind)}_id, relation_id, ${kind % 2 === 0 ? "relation_type" : "type"})
      values (${owned(kind, one)}, ${owned(kind, other)}, ${text(seed)})`,
    (kind, one, other) =>
      `update ${table(kind)}_relations set relation_id = ${owned(kind, one)} where relation_id = ${owned(kind, other)}`,
    (kind, one, other) => `
      delete from ${table(kind)}_relations where relation_id = ${owned(kind, one)} or ${table(kind)}_id = ${owned(kind, other)}`,
    (_, __, ___, seed) => `update series set name = ${text(seed)}, client_id = null where id = ${ids("series", seed)}`,
    (_, __, ___, seed) =>
      `insert into series_aliases (series_id, name, language) values (${ids("series", seed)}, 'A', 'English')`,
    (_, __, ___, seed) => `
      insert into series_descriptions (series_id, language, description) values (${ids("series", seed)}, 'English', ${text(seed)})`,
    (_, __, ___, seed) => `with tag as (insert into tags (name) values ('${randomUUID()}') returning id)
      insert into series_tags select ${ids("series", seed)}, id from tag`,
    (_, __, ___, seed) => `update tags set name = name || ${seed} where id = ${ids("tags", seed)}`,
    (_, __, ___, seed) => `delete from tags where id = ${ids("tags", seed)}`,
    (_, __, ___, seed) => `
      insert into volumes (series_id, number, cover) values (${ids("series", seed)}, ${seed % 7}, ${text(seed)})
      on conflict (series_id, number) do update set cover = excluded.cover`,
    (kind, one, _, seed) =>
      `insert into series_${table(kind)}s (${table(kind)}_id, series_id) values (${owned(kind, one)}, ${ids("series", seed)})
       on conflict do nothing`,
    (kind, one, _, seed) => `
      delete from series_${table(kind)}s where ${table(kind)}_id = ${owned(kind, one)} and series_id > ${ids("series", seed)}`,
    (kind) =>
      `delete from ${table(kind)}s where id = (select max(id) from ${table(kind)}s) and id <> all('{${all(kind)}}')`,
    (_, __, ___, seed) => `delete from series where id = ${ids("series", seed)} and (select count(*) from series) > 2`,
  ];

  it("has one of the tags that the write leaves", { timeout: 120_000 }, async () => {
    let seen = await answers();
    let changed = 0;
    const random = fc.sample(
      fc.tuple(fc.nat(statements.length - 1), fc.nat(1), fc.nat(count - 1), fc.nat(count - 1), fc.nat(9_999)),
      { numRuns: steps },
    );
    // Each statement once, in any case.
    const planned = [...statements.keys()].map((index) => [index, index % 2, index % count, 1, index + 7] as const);
    for (const [index, kind, one, other, seed] of [...planned, ...random]) {
      const statement = statements[index]?.(kind, one, other, seed) ?? "";
      await takeTags();

      await stack.sql.query(statement);

      const tags = await takeTags();
      const latest = await answers();
      for (const [url, { text, tags: known }] of seen) {
        if (known.length === 0 || latest.get(url)?.text === text) continue;
        changed++;
        expect([statement, url, known, tags]).toEqual([
          statement,
          url,
          known,
          expect.toSatisfy(() => tags.includes("everything") || known.some((tag) => tags.includes(tag))),
        ]);
      }
      seen = latest;
    }
    expect(changed).toBeGreaterThan(steps);
  });
});
