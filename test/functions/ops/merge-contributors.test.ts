import { randomUUID } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor, aSeries, type Columns, type Entry } from "../../support/catalogue.ts";
import { openDatabase } from "../../support/database.ts";
import { differenceBy } from "../../support/difference.ts";
import { aUser } from "../../support/people.ts";
import { useStack } from "../../support/stack.ts";
import { contents, undone } from "../../support/undo.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

const invoke = (payload: object) => stack.lambda.invoke("ops-merge-contributors", payload);

/** Merges, and gives the answer. */
async function merge(keep: Entry, merged: readonly Entry[], options: object = {}) {
  const invocation = await invoke({ keep: keep.id, merge: merged.map(({ id }) => id), ...options });
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  // biome-ignore lint/suspicious/noExplicitAny: the answer is compared
  return invocation.result as any;
}

/** The message with which a merge is refused, which changes nothing. */
async function refusal(payload: object): Promise<string> {
  let message = "";
  const difference = await differenceBy(stack.sql, async () => {
    const invocation = await invoke(payload);
    message = "error" in invocation ? invocation.error.errorMessage : "It was merged";
  });
  expect(difference).toEqual([]);
  return message;
}

const some = (count: number, columns: Columns = {}): Promise<Entry[]> =>
  Promise.all(Array.from({ length: count }, () => aContributor(stack.sql, columns)));
const aliasesOf = async ({ id }: Entry) =>
  (await stack.sql`select name from contributor_aliases where contributor_id = ${id} order by id`).map(
    ({ name }) => name,
  );
const linksOf = async ({ id }: Entry) =>
  (await stack.sql`select url from contributor_links where contributor_id = ${id} order by position`).map(
    ({ url }) => url,
  );
const descriptionsOf = ({ id }: Entry) =>
  stack.sql`select language, description, source from contributor_descriptions where contributor_id = ${id} order by id`;
const relationsOf = async ({ id }: Entry) =>
  (
    await stack.sql`select relation_id, relation_type from contributor_relations where contributor_id = ${id} order by id`
  ).map(({ relation_id, relation_type }) => [Number(relation_id), relation_type]);
const rolesOf = async ({ id }: Entry) =>
  (
    await stack.sql`select series_id, role from series_contributors where contributor_id = ${id} order by series_id`
  ).map(({ series_id, role }) => [Number(series_id), role]);
const formerSlugsOf = async ({ id }: Entry) =>
  (await stack.sql`select slug from former_slugs where contributor_id = ${id} order by slug`).map(({ slug }) => slug);
const fieldsOf = async ({ id }: Entry) =>
  (await stack.sql`select gender, type, image, public, client_id, version from contributors where id = ${id}`)[0];
const versionOf = async (entry: Entry) => Number((await fieldsOf(entry))?.version);

const addAliases = ({ id }: Entry, ...names: readonly string[]) =>
  stack.sql`insert into contributor_aliases (contributor_id, name) select ${id}, unnest(${names}::text[])`;
const addLinks = ({ id }: Entry, ...urls: readonly string[]) => stack.sql`
  insert into contributor_links (contributor_id, position, url)
  select ${id}, position - 1, url from unnest(${urls}::text[]) with ordinality as link (url, position)
`;
const describe_ = ({ id }: Entry, language: string, description: string) => stack.sql`
  insert into contributor_descriptions (contributor_id, language, description, source)
  values (${id}, ${language}, ${description}, 'A source')
`;
const relate = ({ id }: Entry, other: Entry, type = "friend") => stack.sql`
  insert into contributor_relations (contributor_id, relation_id, relation_type) values (${id}, ${other.id}, ${type})
`;
const work = ({ id }: Entry, series: Entry, role: string | null) =>
  stack.sql`insert into series_contributors (contributor_id, series_id, role) values (${id}, ${series.id}, ${role})`;

async function rowOf(change: number) {
  const [row] = await stack.sql`select endpoint, operator, reason, answer from changes where id = ${change}`;
  return row;
}

const lookUp = (slug: string, headers: Record<string, string> = {}) =>
  stack.call("contributor/slug", { path: { slug }, headers });

describe("ops-merge-contributors: what the merged ones have is the kept one's", () => {
  it("names and aliases, each once, and not its own name, regardless of case, space and joiners", async () => {
    const kept = await aContributor(stack.sql, { first_name: "Osamu", last_name: "Tezuka" });
    const one = await aContributor(stack.sql, { first_name: "OSAMU TEZUKA" });
    const other = await aContributor(stack.sql, { first_name: "Tezuka", last_name: "Osamu" });
    await addAliases(kept, "手塚治虫", "Ōsamu");
    await addAliases(one, " ōSAMU", "The god of manga", "Osamu\u200d Tezuka");
    await addAliases(other, "the God of manga", "Tezuka");

    const { added } = await merge(kept, [one, other]);

    expect(await aliasesOf(kept)).toEqual(["手塚治虫", "Ōsamu", "The god of manga", "Tezuka Osamu", "Tezuka"]);
    expect(added.aliases).toEqual(["The god of manga", "Tezuka Osamu", "Tezuka"]);
  });

  it("links in their order, its own first, each once", async () => {
    const [kept, one, other] = (await some(3)) as [Entry, Entry, Entry];
    await addLinks(kept, "https://b.example", "https://a.example");
    await addLinks(one, "https://a.example", "https://z.example");
    await addLinks(other, "https://c.example", "https://z.example", "https://b.example");

    const { added } = await merge(kept, [other, one]);

    expect(await linksOf(kept)).toEqual([
      ...["https://b.example", "https://a.example", "https://c.example", "https://z.example"],
    ]);
    expect(added.links).toEqual(["https://c.example", "https://z.example"]);
  });

  it("descriptions in languages that it has none in, of the first one, and the answer says which were left out", async () => {
    const [kept, one, other] = (await some(3)) as [Entry, Entry, Entry];
    await describe_(kept, "English", "kept");
    await describe_(one, "english", "left out");
    await describe_(one, "German", "erste");
    await describe_(one, "German", "zweite");
    await describe_(other, "German", "x".repeat(101));
    await describe_(other, "French", "troisième");

    const { added, leftOut } = await merge(kept, [one, other]);

    expect(await descriptionsOf(kept)).toEqual(
      [
        ["English", "kept"],
        ["German", "erste"],
        ["German", "zweite"],
        ["French", "troisième"],
      ].map(([language, description]) => ({ language, description, source: "A source" })),
    );
    expect(added.descriptions).toEqual(["German", "German", "French"]);
    expect(leftOut.descriptions).toEqual([
      { record: one.id, language: "english", description: "left out" },
      { record: other.id, language: "German", description: "x".repeat(100) },
    ]);
  });

  it("relations to others, each once, and none to itself or to a merged one", async () => {
    const [kept, one, other, friend] = (await some(4)) as [Entry, Entry, Entry, Entry];
    await relate(kept, friend);
    await relate(kept, one, "alter ego");
    await relate(one, friend);
    await relate(one, friend, "sibling");
    await relate(one, kept);
    await relate(one, other);
    await relate(other, friend, "sibling");

    const { added } = await merge(kept, [one, other]);

    expect(await relationsOf(kept)).toEqual([
      [friend.id, "friend"],
      [friend.id, "sibling"],
    ]);
    expect(added.relations).toBe(1);
  });

  it("relations of others, each once", async () => {
    const [kept, one, other, friend, fan] = (await some(5)) as [Entry, Entry, Entry, Entry, Entry];
    await relate(friend, other);
    await relate(friend, one);
    await relate(friend, one, "pupil");
    await relate(fan, one, "fan");
    await relate(fan, kept, "fan");

    const { redirected } = await merge(kept, [one, other]);

    expect(await relationsOf(friend)).toEqual([
      [kept.id, "friend"],
      [kept.id, "pupil"],
    ]);
    expect(await relationsOf(fan)).toEqual([[kept.id, "fan"]]);
    expect(redirected).toBe(2);
    expect([await versionOf(friend), await versionOf(fan)]).toEqual([2, 2]);
  });

  it.each([
    ["story", "art", "story, art"],
    ["author and artist", "artist", "author and artist"],
    ["artist", "author and Artist", "artist, author"],
    ["story, art", "Art , lettering", "story, art, lettering"],
    [null, "art", "art"],
    ["art", null, "art"],
    ["", "art", "art"],
    [null, null, null],
    ["original work", "original work", "original work"],
  ])("the roles in a series of both: %s and %s are %s", async (first, second, joined) => {
    const [kept, one] = (await some(2)) as [Entry, Entry];
    const [both, theirs] = [await aSeries(stack.sql), await aSeries(stack.sql)];
    await work(kept, both, first);
    await work(one, both, second);
    await work(one, theirs, second);

    const { added } = await merge(kept, [one]);

    expect(await rolesOf(kept)).toEqual([
      [both.id, joined],
      [theirs.id, second],
    ]);
    expect(added).toMatchObject({ series: 1, roles: joined === first ? 0 : 1 });
  });

  it("the roles of several merged ones in one series", async () => {
    const [kept, one, other] = (await some(3)) as [Entry, Entry, Entry];
    const series = await aSeries(stack.sql);
    await work(other, series, "art");
    await work(one, series, "story and art");

    await merge(kept, [other, one]);

    expect(await rolesOf(kept)).toEqual([[series.id, "art, story"]]);
  });

  it("gender, type and avatar if it has none, and the answer says so; other avatars are removed", async () => {
    const kept = await aContributor(stack.sql, { public: false, gender: "female" });
    const images = Array.from({ length: 2 }, () => `avatars/${randomUUID()}.webp`);
    const one = await aContributor(stack.sql, { type: "author" });
    const other = await aContributor(stack.sql, { gender: "male", type: "artist", image: images[0] as string });
    const third = await aContributor(stack.sql, { image: images[1] as string });

    const { filled, leftOut } = await merge(kept, [one, other, third]);

    const expected = { type: "author", image: images[0] };
    expect(filled).toEqual(expected);
    expect(leftOut.images).toEqual([third.id]);
    expect(await fieldsOf(kept)).toEqual({
      ...{ ...expected, gender: "female" },
      ...{ public: false, client_id: null, version: 2 },
    });
    expect(await stack.sql`select key from images_to_remove where key = any(${images})`).toEqual([{ key: images[1] }]);
  });

  it("its own avatar stays, and those of the merged ones are removed", async () => {
    const kept = await aContributor(stack.sql, { image: "avatars/own.webp" });
    const one = await aContributor(stack.sql, { image: "avatars/other.webp" });

    const { filled, leftOut } = await merge(kept, [one]);

    expect([filled, leftOut.images, leftOut.externalIds]).toEqual([{}, [one.id], []]);
    expect(await stack.sql`select key from images_to_remove where key like 'avatars/o%'`).toEqual([
      { key: "avatars/other.webp" },
    ]);
  });

  it("and all else of it stays: the page for visitors differs only by what was added", async () => {
    const kept = await aContributor(stack.sql, { gender: "female" });
    const [one] = (await some(1)) as [Entry];
    await addAliases(kept, "Own");
    await describe_(kept, "English", "Own");
    const before = (await lookUp(kept.slug)).body;
    await addAliases(one, "Theirs");
    await addLinks(one, "https://theirs.example");

    await merge(kept, [one]);

    const { aliases, links, ...others } = (await lookUp(kept.slug)).body;
    expect({ ...others, aliases: aliases.slice(0, 1), links: [] }).toEqual(before);
    expect(aliases).toHaveLength(3);
    expect(links).toEqual([{ url: "https://theirs.example", domain: "theirs.example" }]);
  });
});

describe("ops-merge-contributors refuses, and changes nothing,", () => {
  const ids = async (count: number, columns: Columns = {}) =>
    (await some(count, columns)).map(({ id }) => id) as [number, ...number[]];

  it.each([
    [[], "Invalid payload: merge: Nobody is there"],
    [Array.from({ length: 101 }, (_, place) => place + 2), "Invalid payload: merge: More than 100"],
  ])("nobody, and more than a hundred, and says so", async (merged, message) => {
    expect(await refusal({ keep: 1, merge: merged })).toBe(message);
  });

  it("a contributor that does not exist", async () => {
    const [one] = await ids(1);

    expect(await refusal({ keep: one, merge: [999_999] })).toBe("Contributor 999999 does not exist");
    expect(await refusal({ keep: 999_999, merge: [one] })).toBe("Contributor 999999 does not exist");
  });

  it.each([
    ["nobody", (id: number) => ({ keep: id, merge: [] }), /merge: /],
    ["itself", (id: number) => ({ keep: id, merge: [id] }), /merge: The kept one is there, too/],
    ["the same one twice", (id: number) => ({ keep: id, merge: [id + 1, id + 1] }), /merge: An id is there twice/],
    [
      "more than a hundred",
      (id: number) => ({ keep: id, merge: Array.from({ length: 101 }, (_, n) => id + 1 + n) }),
      /merge: /,
    ],
    ["an id that is none", (id: number) => ({ keep: id, merge: ["x"] }), /merge.0: /],
    ["a misspelt field", (id: number) => ({ keep: id, merge: [id + 1], dryrun: true }), /dryrun: unknown/],
  ])("%s", async (_, payloadOf, message) => {
    const [id] = await ids(1);

    expect(await refusal(payloadOf(id))).toMatch(message);
  });

  it.each([
    [null, 1, "is shared by all clients, but contributor %s belongs to client 1"],
    [1, null, "belongs to client 1, but contributor %s is shared by all clients"],
    [1, 2, "belongs to client 1, but contributor %s belongs to client 2"],
  ])("contributors of different clients: %s and %s", async (keptOf, mergedOf, message) => {
    const [kept] = await ids(1, { client_id: keptOf });
    const [same] = await ids(1, { client_id: keptOf });
    const [other] = await ids(1, { client_id: mergedOf });

    expect(await refusal({ keep: kept, merge: [same, other] })).toBe(
      `Contributor ${kept} ${message.replace("%s", `${other}`)}`,
    );
    expect(await invoke({ keep: kept, merge: [same] })).toHaveProperty("result");
  });

  it.each([
    ["aliases", 200, addAliases, (n: number) => `Alias ${n}`],
    ["links", 50, addLinks, (n: number) => `https://example.com/${n}`],
  ] as const)("more %s than %i", async (kind, max, add, make) => {
    const [kept, one, other] = (await some(3)) as [Entry, Entry, Entry];
    // The name of the merged one is an alias, too.
    const names = kind === "aliases" ? 1 : 0;
    const all = Array.from({ length: max + 1 - names }, (_, n) => make(n));
    await add(kept, ...all.slice(0, -2));
    await add(one, ...all.slice(1));

    expect(await refusal({ keep: kept.id, merge: [one.id] })).toBe(
      `Contributor ${kept.id} would have ${max + 1} ${kind}, and can have ${max}`,
    );
    await add(other, ...all.slice(1, -1));
    expect(await merge(kept, [other])).toHaveProperty("change");
  });

  it("more descriptions than 40, and more relations than 100", async () => {
    const [kept, one, friend] = (await some(3)) as [Entry, Entry, Entry];
    const describeIn = ({ id }: Entry, from: number, to: number) => stack.sql`
      insert into contributor_descriptions (contributor_id, language, description)
      select ${id}, 'Language ' || n, 'd' from generate_series(${from}::int, ${to}::int) as n
    `;
    const relateTo = ({ id }: Entry, from: number, to: number) => stack.sql`
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      select ${id}, ${friend.id}, 'Type ' || n from generate_series(${from}::int, ${to}::int) as n
    `;
    await describeIn(kept, 1, 39);
    await describeIn(one, 39, 41);
    await relateTo(kept, 1, 98);
    await relate(kept, one);
    await relateTo(one, 98, 101);

    const refused = () => refusal({ keep: kept.id, merge: [one.id] });
    expect(await refused()).toBe(`Contributor ${kept.id} would have 41 descriptions, and can have 40`);
    await stack.sql`delete from contributor_descriptions where contributor_id = ${one.id} and language = 'Language 41'`;
    expect(await refused()).toBe(`Contributor ${kept.id} would have 101 relations, and can have 100`);
    await stack.sql`
      delete from contributor_relations where contributor_id = ${one.id} and relation_type = 'Type 101'
    `;
    await merge(kept, [one]);
    expect([(await descriptionsOf(kept)).length, (await relationsOf(kept)).length]).toEqual([40, 100]);
  });

  it("a name that is too long for an alias", async () => {
    const [kept] = (await some(1)) as [Entry];
    const long = await aContributor(stack.sql, { first_name: "a".repeat(200), last_name: "b".repeat(55) });

    expect(await refusal({ keep: kept.id, merge: [long.id] })).toBe(
      `The alias "${"a".repeat(30)}…" would have 256 characters, and can have 255`,
    );
  });

  it("a name that is too long in units of UTF-16, as the API counts", async () => {
    const [kept] = (await some(1)) as [Entry];
    const long = await aContributor(stack.sql, { first_name: "😀".repeat(100), last_name: "b".repeat(55) });

    expect(await refusal({ keep: kept.id, merge: [long.id] })).toBe(
      `The alias "${"😀".repeat(30)}…" would have 256 characters, and can have 255`,
    );
  });

  it("roles that are too long together", async () => {
    const [kept, one] = (await some(2)) as [Entry, Entry];
    const series = await aSeries(stack.sql);
    await work(kept, series, "a".repeat(200));
    await work(one, series, "b".repeat(54));

    expect(await refusal({ keep: kept.id, merge: [one.id] })).toBe(
      `The role "${"a".repeat(30)}…" in series ${series.id} would have 256 characters, and can have 255`,
    );
    await stack.sql`update series_contributors set role = ${"b".repeat(53)} where contributor_id = ${one.id}`;
    await merge(kept, [one]);
    expect(await rolesOf(kept)).toEqual([[series.id, `${"a".repeat(200)}, ${"b".repeat(53)}`]]);
  });
});

describe("ops-merge-contributors: former slugs", () => {
  it("find the kept one, and Content-Location is its path", async () => {
    const [kept, one] = (await some(2)) as [Entry, Entry];
    await merge(kept, [one]);

    const byOwn = await lookUp(kept.slug);
    const byFormer = await lookUp(one.slug);

    expect([byFormer.status, byFormer.body]).toEqual([200, byOwn.body]);
    expect(byFormer.body.slug).toBe(kept.slug);
    const current = `/contributor/slug/${kept.slug}`;
    expect(byFormer.headers.get("Content-Location")).toBe(current);
    expect(byOwn.headers.get("Content-Location")).toBeNull();
    expect(byFormer.headers.get("Cache-Tag")).toBe(`contributor-${kept.id}`);
    const etag = byFormer.headers.get("ETag") ?? "";
    const unchanged = await lookUp(one.slug, { "If-None-Match": etag });
    expect([unchanged.status, unchanged.headers.get("Content-Location")]).toEqual([304, current]);
    const head = await fetch(`${stack.url}/contributor/slug/${one.slug}`, { method: "HEAD" });
    expect([head.status, head.headers.get("Content-Location"), await head.text()]).toEqual([200, current, ""]);
  });

  it("find nobody if the kept one is not published", async () => {
    const kept = await aContributor(stack.sql, { public: false });
    const [one] = (await some(1)) as [Entry];
    await merge(kept, [one]);

    expect((await lookUp(one.slug)).status).toBe(404);
  });

  it("lead on when the kept one is merged itself, and end when it is deleted", async () => {
    const [first, second, third] = (await some(3)) as [Entry, Entry, Entry];
    await merge(second, [first]);
    await merge(third, [second]);
    const slugs = [first.slug, second.slug].sort();

    expect(await formerSlugsOf(third)).toEqual(slugs);
    for (const slug of slugs) expect((await lookUp(slug)).body.id).toBe(third.id);

    await stack.call("admin-contributors/delete", { as: administrator.token, path: { id: third.id } });

    for (const slug of slugs) expect((await lookUp(slug)).status).toBe(404);
    const rows = await stack.sql`
      select key from changed_rows
      where change_id = (select max(id) from changes) and table_name = 'former_slugs' and after is null
      order by key
    `;
    expect(rows.map(({ key }) => key[0])).toEqual(slugs);
  });

  it("are nobody else's: who is added by the former name gets a number", async () => {
    const add = async (first_name: string) => {
      const { headers } = await stack.call("admin-contributors/add", { as: administrator.token, body: { first_name } });
      const id = Number(headers.get("Location")?.split("/").at(-1));
      return (await stack.sql<Entry[]>`select id, slug from contributors where id = ${id}`)[0] as Entry;
    };
    const name = `Former ${randomUUID()}`;
    const [kept, one] = [await aContributor(stack.sql), await add(name)];
    await merge(kept, [one]);

    const again = await add(name);

    expect(again.slug).toBe(`${one.slug}-2`);
    await merge(kept, [again]);
    expect((await add(name)).slug).toBe(`${one.slug}-3`);
    expect((await lookUp(one.slug)).body.id).toBe(kept.id);
  });
});

describe("ops-merge-contributors: the ledger", () => {
  it("has who did it, why, and the rows of each other, of each merged one, and of the kept one", async () => {
    const kept = await aContributor(stack.sql, { first_name: "Kept", last_name: randomUUID() });
    const [one, other, friend] = (await some(3, { gender: "female" })) as [Entry, Entry, Entry];
    const [both, theirs] = [await aSeries(stack.sql), await aSeries(stack.sql)];
    await addAliases(one, "Alias");
    await addLinks(kept, "https://a.example");
    await addLinks(one, "https://b.example");
    await describe_(one, "English", "d");
    await relate(one, other, "first");
    await relate(other, one, "second");
    await relate(kept, other, "third");
    await relate(one, friend);
    await relate(friend, one);
    await relate(friend, other);
    await work(kept, both, "story");
    await work(other, both, "art");
    await work(other, theirs, null);

    const answer = await merge(kept, [one, other], { reason: "One person", by: "Ada" });

    expect(await rowOf(answer.change)).toEqual({
      endpoint: "ops/merge-contributors",
      operator: "Ada",
      reason: "One person",
      answer,
    });
    const rows = await stack.sql`
      select
        table_name, owner,
        case when before is null then 'inserted' when after is null then 'deleted' else 'updated' end as was,
        count(*)
      from changed_rows
      where change_id = ${answer.change}
      group by 1, 2, 3
      order by 1, 2, 3
    `;
    const names = { [kept.id]: "kept", [one.id]: "one", [other.id]: "other", [friend.id]: "friend" };
    expect(
      rows
        .filter(({ table_name }) => table_name.startsWith("contributor"))
        .map(({ table_name, owner, was, count }) => `${table_name} of ${names[owner]}: ${count} ${was}`)
        .sort(),
    ).toEqual([
      "contributor_aliases of kept: 3 inserted",
      "contributor_aliases of one: 1 deleted",
      "contributor_descriptions of kept: 1 inserted",
      "contributor_descriptions of one: 1 deleted",
      "contributor_links of kept: 1 inserted",
      "contributor_links of one: 1 deleted",
      "contributor_relations of friend: 1 deleted",
      "contributor_relations of friend: 1 updated",
      "contributor_relations of kept: 1 deleted",
      "contributor_relations of kept: 1 inserted",
      "contributor_relations of one: 2 deleted",
      "contributor_relations of other: 1 deleted",
      "contributors of kept: 1 updated",
      "contributors of one: 1 deleted",
      "contributors of other: 1 deleted",
    ]);
  });

  it("has no row of a dry run, which answers the same and writes nothing", async () => {
    const [kept, one, friend] = (await some(3, { image: null })) as [Entry, Entry, Entry];
    const user = await aUser(stack.sql);
    await stack.sql`
      insert into contributor_locks (contributor_id, holder_id, expires_at) values (${one.id}, ${user.id}, now())
    `;
    await addAliases(one, "Alias");
    await describe_(one, "English", "d");
    await relate(friend, one);
    await work(one, await aSeries(stack.sql), "art");
    await stack.sql`delete from stale_tags`;
    // biome-ignore lint/suspicious/noExplicitAny: the answer is compared
    let tried: any;

    const difference = await differenceBy(stack.sql, async () => {
      tried = await merge(kept, [one], { dryRun: true });
    });

    expect(difference).toEqual([]);
    expect(await stack.sql`select from stale_tags`).toEqual([]);
    const { change, ...answer } = await merge(kept, [one]);
    expect(tried).toEqual(answer);
    expect(change).toEqual(expect.any(Number));
  });

  it("has one row when the answer to the change is lost, and the answer is that of the row", async () => {
    const [kept, one] = (await some(2)) as [Entry, Entry];
    stack.dataApi.intercept(({ attempt, number }) =>
      number === 1 && attempt === 1 ? { kind: "drop-after" } : undefined,
    );
    stack.dataApi.calls.length = 0;

    const answer = await merge(kept, [one]).finally(() => stack.dataApi.intercept(undefined));

    expect(stack.dataApi.calls.length).toBeGreaterThan(1);
    expect(await rowOf(answer.change)).toMatchObject({ answer });
    expect(
      await stack.sql`select distinct change_id from history where table_name like 'contributor%' and owners @> array[${kept.id}::bigint]`,
    ).toHaveLength(2);
    expect(await versionOf(kept)).toBe(2);
  });
});

describe("ops-merge-contributors: external ids", () => {
  const externalIdOf = async ({ id }: Entry) =>
    (await stack.sql`select external_id from contributors where id = ${id}`)[0]?.external_id;

  it("fill that of the kept one, so that imports find it, unless they say a slug", async () => {
    const [kept, one] = (await some(2)) as [Entry, Entry];
    const said = await aContributor(stack.sql, { external_id: `slug:${one.slug}-said`, slug: `${one.slug}-said` });
    const [first, second] = [randomUUID(), randomUUID()];
    await stack.sql`update contributors set external_id = ${first} where id = ${one.id}`;
    const other = await aContributor(stack.sql, { external_id: second });

    const { filled, leftOut } = await merge(kept, [said, one, other]);

    expect([filled, await externalIdOf(kept)]).toEqual([{ external_id: first }, first]);
    expect(leftOut.externalIds).toEqual([
      { record: said.id, externalId: `slug:${said.slug}` },
      { record: other.id, externalId: second },
    ]);
  });

  it("leave that which the kept one has", async () => {
    const kept = await aContributor(stack.sql, { external_id: randomUUID() });
    const own = await externalIdOf(kept);
    const one = await aContributor(stack.sql, { external_id: randomUUID() });

    expect(await merge(kept, [one])).toMatchObject({ filled: {}, leftOut: { externalIds: [{ record: one.id }] } });
    expect(await externalIdOf(kept)).toBe(own);
  });
});

describe("ops-merge-contributors: undone", () => {
  it("leaves the database as it was, and undone again as the merge did", async () => {
    const [kept, friend] = (await some(2)) as [Entry, Entry];
    const one = await aContributor(stack.sql, { gender: "male", image: `avatars/${randomUUID()}.webp` });
    const other = await aContributor(stack.sql, { type: "author", external_id: randomUUID() });
    const former = await aContributor(stack.sql);
    await merge(one, [former]);
    const [both, theirs] = [await aSeries(stack.sql), await aSeries(stack.sql)];
    await addAliases(one, "Alias");
    await addLinks(kept, "https://b.example", "https://a.example");
    await addLinks(one, "https://a.example", "https://c.example");
    await describe_(kept, "English", "kept");
    await describe_(one, "English", "left out");
    await describe_(other, "German", "gained");
    await relate(one, other, "first");
    await relate(other, one, "second");
    await relate(kept, other, "third");
    await relate(other, kept, "fourth");
    await relate(one, friend);
    await relate(friend, one);
    await relate(friend, other);
    await work(kept, both, null);
    await work(other, both, "art");
    await work(other, theirs, "story");
    const before = await contents(stack.sql);
    const { change } = await merge(kept, [one, other]);
    const after = await contents(stack.sql);

    const undoing = await undone(stack, change);
    expect(await contents(stack.sql)).toEqual(before);
    const redo = await undone(stack, undoing);
    expect(await contents(stack.sql)).toEqual(after);
    await undone(stack, redo);
    expect(await contents(stack.sql)).toEqual(before);
    const rows = await stack.sql`
      select key from images_to_remove where key = (select image from contributors where id = ${one.id})
    `;
    expect(rows).toEqual([]);
  });

  it("gives a deleted contributor the slugs back that found it", async () => {
    const [kept, one] = (await some(2)) as [Entry, Entry];
    await merge(kept, [one]);
    const before = await contents(stack.sql);
    await stack.call("admin-contributors/delete", { as: administrator.token, path: { id: kept.id } });
    const [{ id } = { id: 0 }] = await stack.sql<{ id: number }[]>`select max(id) as id from changes`;

    await undone(stack, id);

    expect(await contents(stack.sql)).toEqual(before);
    expect((await lookUp(one.slug)).body.id).toBe(kept.id);
  });
});

describe("ops-merge-contributors: all or nothing", () => {
  it("when its connection is killed in the middle", async () => {
    const [kept, one, friend] = (await some(3)) as [Entry, Entry, Entry];
    const series = await aSeries(stack.sql);
    await addAliases(one, "Alias");
    await relate(friend, one);
    await work(one, series, "art");
    let merging: Promise<unknown> = Promise.resolve();

    // It waits for this row in the middle: relations of others lead to the kept one by then.
    const difference = await differenceBy(stack.sql, () =>
      stack.sql.begin(async (tx) => {
        await tx`select from series_contributors where contributor_id = ${one.id} for update`;
        merging = merge(kept, [one]);
        for (const _ of Array(2)) await killWaiting();
      }),
    );

    expect(difference.filter((line) => !line.startsWith("contributors.image"))).toEqual([]);
    expect(await merging).toMatchObject({ kept: kept.id });
    expect(await rolesOf(kept)).toEqual([[series.id, "art"]]);
    expect(await relationsOf(friend)).toEqual([[kept.id, "friend"]]);
    expect(await aliasesOf(kept)).toHaveLength(2);
  });

  /** Ends the session of operators that waits for a lock, once there is one; only a superuser may. */
  async function killWaiting(): Promise<void> {
    const [{ name } = { name: "" }] = await stack.sql<{ name: string }[]>`select current_database() as name`;
    const superuser = openDatabase(`${inject("databaseUrl")}/${name}`, { max: 1 });
    for (let killed = 0; killed === 0; ) {
      const sessions = await superuser`
        select pg_terminate_backend(pid), pg_sleep(0.05)
        from pg_stat_activity
        where datname = ${name} and wait_event_type = 'Lock' and query like '%merge_contributors%'
      `;
      killed = sessions.length;
    }
    await superuser.end();
  }

  it("beside edits of a merged one: each is made before, or finds nobody", async () => {
    for (let round = 0; round < 10; round++) {
      const [kept, one] = (await some(2)) as [Entry, Entry];
      const edit = (alias: string) =>
        stack.call("admin-contributors/edit", {
          as: administrator.token,
          path: { id: one.id },
          body: { added_aliases: [alias] },
          headers: { "Content-Type": "application/merge-patch+json" },
        });

      const [, ...edits] = await Promise.all([merge(kept, [one]), ...["a", "b", "c", "d"].map(edit)]);

      const made = ["a", "b", "c", "d"].filter((_, index) => edits[index]?.status === 200);
      for (const { status } of edits) expect([200, 404]).toContain(status);
      expect((await aliasesOf(kept)).slice(1).toSorted()).toEqual(made);
    }
  });
});

describe("ops-merge-contributors: caches", () => {
  const tags = async () => (await stack.sql`delete from stale_tags returning tag`).map(({ tag }) => String(tag)).sort();
  const tagsOf = (...entries: readonly Entry[]) => entries.map(({ id }) => `contributor-${id}`);

  it("drop what shows the kept one, the merged one, and others that were related to it", async () => {
    const [kept, one, friend] = (await some(3)) as [Entry, Entry, Entry];
    await relate(friend, one);
    await work(one, await aSeries(stack.sql), "art");
    await tags();

    await merge(kept, [one]);

    expect(await tags()).toEqual([...tagsOf(kept, one, friend), "contributors", "series"].sort());
  });

  it("drop what was found by a former slug when it leads elsewhere", async () => {
    const [kept, one] = (await some(2)) as [Entry, Entry];
    await merge(kept, [one]);
    await tags();

    await stack.sql`delete from former_slugs where slug = ${one.slug}`;

    expect(await tags()).toEqual(tagsOf(kept));
  });
});

describe("ops-merge-contributors: a hundred contributors with series each", () => {
  it("become one, also if they are in the same series with other roles, and are undone and merged again", async () => {
    const kept = (await some(1))[0] as Entry;
    const merged = await stack.sql<Entry[]>`
      insert into contributors (first_name, slug, public)
      select 'Series ' || n, 'in-series-' || n, true from generate_series(1, 100) as n
      returning id, slug
    `;
    const ids = merged.map(({ id }) => id);
    await stack.sql`
      insert into series (name, slug) select 'Series ' || n, 'series-' || n from generate_series(1, 1000) as n
    `;
    // Each series has two of them, with different roles.
    await stack.sql`
      insert into series_contributors (contributor_id, series_id, role)
      select contributor, series.id, case when place <= 50 then 'story' else 'art' end
      from
        unnest(${ids}::bigint[]) with ordinality as merged (contributor, place)
        cross join generate_series(1, 20) as n
        join series on series.slug = 'series-' || place % 50 * 20 + n
    `;
    const before = await contents(stack.sql);

    const { added, change } = await merge(kept, merged);

    expect(added).toMatchObject({ aliases: { length: 100 }, series: 1_000 });
    const roles = await stack.sql`select distinct role from series_contributors where contributor_id = ${kept.id}`;
    expect(roles).toEqual([{ role: expect.stringMatching(/^(story, art|art, story)$/) }]);
    const after = await contents(stack.sql);
    const undoing = await undone(stack, change);
    expect(await contents(stack.sql)).toEqual(before);
    await undone(stack, undoing);
    expect(await contents(stack.sql)).toEqual(after);
  });
});
