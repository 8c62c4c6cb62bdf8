import { beforeEach, describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor, aPublisher, aSeries, type Columns, type Entry } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import { invalidParameter } from "../support/envelope.ts";
import { aUser } from "../support/people.ts";
import { useStack } from "../support/stack.ts";

/* What all lists have in common: orders, pages, searches by name, and the client's scope. */

const stack = useStack();
const administrator = useAdministrator(stack);
let author: Entry;
let publisher: Entry;

/** The administrator is the last of the users. */
beforeEach(async () => {
  for (const table of ["contributors", "publishers", "series"]) await stack.sql`delete from ${identifier(table)}`;
  await stack.sql`delete from users where id <> ${administrator.id}`;
  await stack.sql`update users set username = 'zzz'`;
});

type Client = 1 | 2 | null;

interface List {
  readonly endpoint: string;
  readonly field: string;
  /** The field that shows a record's name. */
  readonly name: string;
  /** The order by time. */
  readonly byTime?: "added" | "registered";
  /** The number of records that are there already. */
  readonly own?: number;
  readonly isScoped?: boolean;
  readonly id?: () => number;
  add(name: string, client_id: Client): Promise<unknown>;
}

const lists: readonly List[] = [
  {
    endpoint: "admin-users/list",
    field: "users",
    name: "username",
    byTime: "registered",
    own: 1,
    add: (name) => aUser(stack.sql, name),
  },
  {
    endpoint: "admin-contributors/list",
    field: "contributors",
    name: "first_name",
    isScoped: true,
    add: (first_name, client_id) => aContributor(stack.sql, { first_name, client_id, public: false }),
  },
  {
    endpoint: "contributors/list",
    field: "contributors",
    name: "first_name",
    byTime: "added",
    isScoped: true,
    add: (first_name, client_id) => aContributor(stack.sql, { first_name, client_id }),
  },
  {
    endpoint: "publishers/list",
    field: "publishers",
    name: "name",
    byTime: "added",
    add: (name, client_id) => aPublisher(stack.sql, { name, client_id }),
  },
  {
    endpoint: "contributor/works",
    field: "works",
    name: "name",
    byTime: "added",
    isScoped: true,
    id: () => author.id,
    add: (name, client_id) => aSeries(stack.sql, { by: author }, { name, client_id }),
  },
  {
    endpoint: "publisher/publications",
    field: "publications",
    name: "name",
    byTime: "added",
    isScoped: true,
    id: () => publisher.id,
    add: (name, client_id) => aSeries(stack.sql, { from: publisher }, { name, client_id }),
  },
];

describe.each(lists)("The list $endpoint", ({ endpoint, field, name, byTime, own = 0, isScoped, id, add }) => {
  beforeEach(async () => {
    if (endpoint === "contributor/works") author = await aContributor(stack.sql);
    if (endpoint === "publisher/publications") publisher = await aPublisher(stack.sql);
  });

  const addAll = async (...names: readonly string[]) => {
    for (const each of names) await add(each, null);
  };
  const get = async (query: Readonly<Record<string, string | number>> = {}) => {
    const client = endpoint.startsWith("admin-users") || endpoint.startsWith("publishers") ? {} : { client: 1 };
    const { body } = await stack.call(endpoint, {
      as: administrator.token,
      path: { id: id?.() ?? 0 },
      query: { ...client, ...query },
    });
    const { [field]: records = [], ...numbers } = body;
    const names: string[] = records.map((each: Record<string, string>) => each[name]);
    return { ...numbers, names: names.filter((each) => each !== "zzz") };
  };
  const namesBy = async (order: string) => (await get({ order })).names;

  it("is ordered by name without regard to case and accents, or by time", async () => {
    const added = ["zoë", "Émile", "emma", "Øyvind", "adam", "Čapek"];
    await addAll(...added);
    const ascending = ["adam", "Čapek", "Émile", "emma", "Øyvind", "zoë"];

    expect((await get()).names).toEqual(endpoint === "publishers/list" ? added : ascending);
    expect(await namesBy("name-asc")).toEqual(ascending);
    expect(await namesBy("name-desc")).toEqual(ascending.toReversed());
    if (byTime) {
      expect(await namesBy(`${byTime}-asc`)).toEqual(added);
      expect(await namesBy(`${byTime}-desc`)).toEqual(added.toReversed());
    } else expect(await get({ order: "added-asc" })).toEqual({ names: [], ...invalidParameter("order") });
  });

  it("has the part that limit and offset select, with its numbers", async () => {
    await addAll("a", "b", "c", "d", "e");
    const [order, max, huge] = ["name-asc", 5 + own, Number.MAX_SAFE_INTEGER];

    expect(await get({ limit: 2, offset: 1, order })).toMatchObject({ names: ["b", "c"], max, from: 1, to: 3 });
    expect(await get({ limit: 0 })).toMatchObject({ names: [], max, from: 0, to: 0 });
    expect(await get({ offset: 9 })).toMatchObject({ names: [], max, from: max, to: max });
    expect(await get({ limit: huge, offset: huge })).toMatchObject({ names: [], max, from: max, to: max });
  });

  it("has pages that neither overlap nor have gaps where records have the same name but for accents", async () => {
    const names = Array.from({ length: 7 }, (_, n) => `same${"\u0301".repeat(n)}`);
    await addAll(...names);

    const pages = await Promise.all([0, 2, 4, 6].map((offset) => get({ limit: 2, offset, order: "name-asc" })));

    expect(pages.flatMap((page) => page.names)).toEqual(names);
  });

  it("has the records whose names contain the words of a search, and counts them", async () => {
    const names = ["100% Dune", "100 percent dune", "snake_case", "snakeXcase", "back\\slash", "'; drop table users"];
    await addAll(...names, "Émile Zola", "Stanisław Lem", "手塚 治虫");

    const searches: readonly [search: string, ...found: string[]][] = [
      ["100%", "100% Dune"],
      ["SNAKE_", "snake_case"],
      ["k\\s", "back\\slash"],
      ["'; drop", "'; drop table users"],
      [" DUNE\u3000100 ", "100 percent dune", "100% Dune"],
      ["emile z", "Émile Zola"],
      ["ISLAW", "Stanisław Lem"],
      ["塚 治", "手塚 治虫"],
      ["dune snake"],
    ];
    for (const [search, ...found] of searches)
      expect([search, await get({ search, order: "name-asc" })]).toMatchObject([
        search,
        { names: found, max: found.length, from: 0, to: found.length },
      ]);
    const page = await get({ search: "dune", limit: 1, offset: 1, order: "name-asc" });
    expect(page).toMatchObject({ names: ["100% Dune"], max: 2, from: 1, to: 2 });
    for (const search of ["", " ", "\u0301".repeat(255)]) expect((await get({ search })).max).toBe(9 + own);
  });

  it.runIf(isScoped)("has what all clients share and the client's own, and counts it", async () => {
    await add("Shared", null);
    await add("Own", 1);
    await add("Foreign", 2);

    expect(await get()).toMatchObject({ names: ["Own", "Shared"], max: 2 });
  });
});

it("GET /publishers has those of all clients", async () => {
  await aPublisher(stack.sql, { client_id: 2 });

  expect((await stack.call("publishers/list", { query: { lang: "German" } })).body).toMatchObject({ max: 1, count: 1 });
});

describe.each([
  ["contributor/works", "works", "by", (columns: Columns) => aContributor(stack.sql, columns)],
  ["publisher/publications", "publications", "from", (columns: Columns) => aPublisher(stack.sql, columns)],
] as const)("Series in %s", (endpoint, field, relation, anOwner) => {
  const listOf = async ({ id }: Entry, query: Readonly<Record<string, string | number>> = {}) =>
    (await stack.call(endpoint, { path: { id }, query: { client: 1, ...query } })).body;
  const nothing = { [field]: [], max: 0, from: 0, to: 0 };

  it.each([
    ["German", ["English", "German"], "German", "German"],
    ["ja", ["English", "Japanese"], "Japanese", "Japanese"],
    [undefined, ["German", "English"], "English", "English"],
    ["German", ["French", "English"], "English", "English"],
    // A name in another language says less than the series' own.
    ["German", ["French"], "Ring", "French"],
    ["Klingon", [], "Ring", ""],
  ])("are shown in %s of texts in %o, with the alias %s and the description %s", async (lang, all, ...expected) => {
    const owner = await anOwner({});
    const { id } = await aSeries(stack.sql, { [relation]: owner }, { name: "Ring" });
    for (const each of all) {
      await stack.sql`insert into series_aliases (series_id, name, language) values (${id}, ${each}, ${each})`;
      await stack.sql`
        insert into series_descriptions (series_id, description, language) values (${id}, ${each}, ${each})
      `;
    }

    const [{ alias, description }] = (await listOf(owner, lang ? { user_lang: lang } : {}))[field];
    expect([alias, description]).toEqual(expected);
  });

  it("of an owner of another client are none", async () => {
    const foreign = await anOwner({ client_id: 2 });
    await aSeries(stack.sql, { [relation]: foreign });

    expect(await listOf(foreign)).toEqual(nothing);
    expect(await listOf(foreign, { client: 2 })).toMatchObject({ max: 1 });
  });

  it.runIf(relation === "by")("of an unpublished contributor are none", async () => {
    const hidden = await anOwner({ public: false });
    await aSeries(stack.sql, { by: hidden });

    expect(await listOf(hidden)).toEqual(nothing);
  });
});
