import fc from "fast-check";
import sql, { empty, type Sql } from "sql-template-tag";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import * as z from "zod/mini";
import { scale } from "../../../infra/local/demo/scale.ts";
import { search } from "../../../lib/contract/parameters.ts";
import { type Batch, foundOf, type ListQuery, selectShort } from "../../../lib/data-api/list.ts";
import * as adminContributors from "../../../lib/queries/admin-contributors.ts";
import type * as ledger from "../../../lib/queries/changes.ts";
import * as contributors from "../../../lib/queries/contributors.ts";
import { keysOf, searchPlan } from "../../../lib/queries/fragments/search.ts";
import * as publishers from "../../../lib/queries/publishers.ts";
import * as series from "../../../lib/queries/series.ts";
import * as users from "../../../lib/queries/users.ts";
import { openDatabase } from "../../support/database.ts";
import { addUsers, lateRole } from "../../support/made-up-users.ts";
import { createDatabase } from "../../support/own-database.ts";

const databaseUrl = `${inject("databaseUrl")}/${await createDatabase("demo")}`;
const db = openDatabase(databaseUrl, { max: 1 });
let changes: typeof ledger;

beforeAll(async () => {
  await scale(databaseUrl, 30_000);
  await addUsers(databaseUrl, 3_000, 20);
  await db`
    with added as (
      insert into changes (key, request_id, endpoint, caller_id, username, record)
      select
        number, number, 'admin-roles/edit', number % 200, 'User ' || number % 200,
        case when number % 10 = 0 then 'role/' || number % 300 end
      from generate_series(1, 60000) as number
      returning id, key
    )
    insert into history (change_id, table_name, owners, keys, after)
    select id, 'roles', array[cast(key as bigint) % 300], '[]', '[]' from added
  `;
  await db`
    insert into history (change_id, table_name, owners, keys, after)
    select id, 'contributors', array(select generate_series(20 * id, 20 * id + 19)), '[]', '[]'
    from changes
    where id <= 2000
  `;
  await db`vacuum analyze changes, history, contributors, series`;
  await db`insert into former_slugs select 'former-' || id, id from contributors where id % 10 = 0`;
  await db`analyze former_slugs`;
  // Whose function reads the rows, a module knows when it is loaded.
  const [{ schema } = {}] = await db`select schema from releases`;
  vi.stubEnv("RELEASE_SCHEMA", schema);
  vi.resetModules();
  changes = await import("../../../lib/queries/changes.ts");
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await db.end();
});

/** The plan PostgreSQL makes for a statement with its parameters. */
async function planOf(statement: Sql): Promise<string> {
  const rows = await db.query(`explain ${statement.text}`, statement.values as string[]);
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

/** The plan for any parameters, which PostgreSQL may keep for a statement that is often sent. */
async function genericPlanOf({ text }: Sql): Promise<string> {
  const rows = await db.query(`explain (generic_plan) ${text}`);
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

const firstPage: Batch = { after: undefined, limit: 50, offset: 0, limitMax: sql`400` };
const withFound = (query: ListQuery, select: Sql) => (query.found ? sql`with ${foundOf(query)} ${select}` : select);
const page = (query: ListQuery, batch: Partial<Batch> = {}): Sql =>
  withFound(query, query.page({ ...firstPage, ...batch }));
const max = (query: ListQuery): Sql => withFound(query, sql`select (${query.max ?? empty})`);
const asCaller = (statement: Sql): Sql => sql`
  select * from (select 1::bigint as id) as caller cross join lateral (${statement}) as page
`;
const everybody = { client: 1, search: undefined };
const wordsOf = (text: string) => z.parse(search, text);
const searched = (text: string) => contributors.list({ client: 1, search: wordsOf(text), order: "name-asc" });
const works = (text?: string) =>
  page(
    contributors.works(300, {
      client: 1,
      search: text === undefined ? text : wordsOf(text),
      order: "name-asc",
      user_lang: "German",
    }),
  );
/** No record of the catalogue has been changed since then. */
const later = "2999-01-01T00:00:00.000Z";
const included = { client: 1, include: ["works" as const, "series_count" as const, "images" as const] };
const bothOf = (what: string, list: ListQuery) => ({
  [`a page of ${what}`]: page(list),
  [`the number of ${what}`]: max(list),
});
const administered = (input: Partial<Parameters<typeof adminContributors.list>[0]>): Sql =>
  asCaller(page(adminContributors.list({ client: 1, order: "name-asc", ...input })));
const listed = (input: Partial<Parameters<typeof series.list>[0]>) =>
  series.list({ client: 1, order: "name-asc", user_lang: "English", ...input });

describe("In a large catalogue", () => {
  it.each(
    Object.entries({
      "the first page by name": page(contributors.list({ ...everybody, order: "name-asc" })),
      "the first page, backwards": page(contributors.list({ ...everybody, order: "name-desc" })),
      "the first page by sort name": page(contributors.list({ ...everybody, order: "sort-name-asc" })),
      "the first page of a letter": page(contributors.list({ ...everybody, order: "sort-name-asc", letter: "M" })),
      "the first page of a letter by name": page(contributors.list({ ...everybody, order: "name-asc", letter: "M" })),
      "a later page by sort name, by key": page(contributors.list({ ...everybody, order: "sort-name-desc" }), {
        after: { key: "E eco emily pratchett", id: 77 },
        limit: 50,
        offset: 0,
      }),
      "the first page as added": page(contributors.list({ ...everybody, order: "added-desc" })),
      "a later page, by key": page(contributors.list({ ...everybody, order: "name-asc" }), {
        after: { key: "emily eco pratchett", id: 77 },
        limit: 50,
        offset: 0,
      }),
      "the first page by id": page(contributors.list({ ...everybody, order: "id-desc" })),
      "the first page by change": page(contributors.list({ ...everybody, order: "changed-asc" })),
      "the first page by change, backwards": page(contributors.list({ ...everybody, order: "changed-desc" })),
      "a later page by change, by key": page(contributors.list({ ...everybody, order: "changed-desc" }), {
        after: { key: later, id: 77 },
      }),
      ...bothOf("the contributors with ids", contributors.list({ ...everybody, order: "name-asc", ids: "7,77,777" })),
      ...bothOf(
        "the contributors changed since a time",
        contributors.list({ ...everybody, order: "name-asc", "changed-since": later }),
      ),
      "all contributors by change, for administration": administered({ order: "changed-desc" }),
      "all contributors by id, for administration": administered({ order: "id-asc" }),
      "contributors with ids, for administration": administered({ ids: "7,77,777" }),
      "the first page of unpublished ones": administered({ public: "false" }),
      "the first page of those with a link": administered({ website: "true" }),
      "the first page of those without a link": administered({ website: "false" }),
      "the first page of a type": administered({ type: "author" }),
      "a search": page(searched("takahashi")),
      "a slug": contributors.find("made-up-777"),
      "a former slug": contributors.find("former-777"),
      "a random slug": contributors.random(1),
      "the works of a contributor": works(),
      "a search among the works of a contributor": works("takahashi"),
      "the first page of series": page(listed({})),
      "the first page of series, backwards": page(listed({ order: "name-desc" })),
      "the first page of series by sort name": page(listed({ order: "sort-name-asc" })),
      "the first page of series as added": page(listed({ order: "added-desc" })),
      "the first page of series of a letter": page(listed({ letter: "M", order: "sort-name-asc" })),
      "the first page of series of a letter by name": page(listed({ letter: "M" })),
      "the first page of series of a type": page(listed({ type: "manga" })),
      "the first page of series of a type as added": page(listed({ type: "manga", order: "added-asc" })),
      "the first page of series of a rare type": page(listed({ type: "opera", order: "sort-name-desc" })),
      "the first page of series of a letter and a type": page(listed({ letter: "M", type: "manga" })),
      "the number of series of a letter and a type": max(listed({ letter: "M", type: "manga" })),
      "the first page of series with a tag": page(listed({ tag: "made up" })),
      "the number of series with a tag": max(listed({ tag: "made up" })),
      "a later page of series, by key": page(listed({}), {
        after: { key: "earthsea 777", id: 77 },
        limit: 50,
        offset: 0,
      }),
      "the first page of series by id": page(listed({ order: "id-asc" })),
      "the first page of series by change": page(listed({ order: "changed-desc" })),
      "the first page of series of a type by change": page(listed({ type: "manga", order: "changed-asc" })),
      "a later page of series by change": page(listed({ order: "changed-asc" }), { after: { key: later, id: 77 } }),
      ...bothOf("the series with ids", listed({ ids: "7,77,777" })),
      ...bothOf("the series changed since a time", listed({ "changed-since": later })),
      "the page of a contributor with works": contributors.find("made-up-777", included),
      "the page of a publisher with works": publishers.find("made-up-300", included),
      "a search among all series": page(listed({ search: wordsOf("earthsea") })),
      "a series by slug": series.find("made-up-300", { client: undefined, include: undefined }),
      "a series of a client by slug": series.find("made-up-300", { client: 1, include: undefined }),
      "a random series": series.random(1),
      "a publisher by slug": publishers.find("made-up-300"),
    }),
  )("%s is read from an index", async (_, statement) => {
    expect(await planOf(statement)).not.toMatch(
      /Seq Scan on (contributors|contributor_changes|former_slugs|series|series_\w+|volumes)\b/,
    );
  });

  it.each(
    Object.entries({
      listed: page(listed({})),
      "that is shown": series.find("made-up-300", { client: undefined, include: undefined }),
      "of a contributor": works(),
    }),
  )("the tags of each series %s are looked up, also while there are few tags", async (_, statement) => {
    expect(await planOf(statement)).toMatch(/Index Scan using tags_pkey on tags/);
  });

  const accents = "\u0301".repeat(250);

  const short = [
    "-",
    "a",
    "ａ",
    " a ",
    "É",
    "手",
    "ש",
    "a\u{20d0}",
    "a-b",
    "J. K.",
    "(^o^)",
    "ab",
    "J.K.",
    "øl ß",
    "--",
  ];

  it.each([
    ...short.map((text) => ({ what: text, text })),
    { what: "a with accents", text: `a${accents}` },
    { what: "a behind accents", text: `${accents}a` },
  ])("the search $what, whose words have one character or two of ASCII, compares all names", async ({ text }) => {
    const list = searched(text);

    const plan = `${await genericPlanOf(page(list))}\n${await genericPlanOf(max(list))}`;

    expect(plan).toMatch(/Index Only Scan using (public_)?contributors_by_(sort_)?name/);
    expect(plan).not.toMatch(/by_grams|normalize/i);
  });

  it.each([
    ...["wil", "J.R.R.", "a wil", "---", "\ufdfa", "手塚", "שלום", "احمد"].map((text) => ({ what: text, text })),
    { what: "wil with accents", text: `w${accents}il` },
  ])("the search $what is looked up in the index of grams, and folded once", async ({ text }) => {
    const plan = await genericPlanOf(page(searched(text)));

    expect(plan).toMatch(
      /Index Cond: \(grams\(COALESCE\(short_search_keys, long_search_keys\)\) @> \(InitPlan \d+\)\.col1\)/,
    );
  });

  it("the contributors with a letter are counted in an index", async () => {
    const list = searched("r");

    const plans = [await planOf(max(list)), await genericPlanOf(max(list))].join("\n");

    expect(plans.match(/Index Only Scan using public_contributors_by_(sort_)?name/g)).toHaveLength(4);
    expect(plans).not.toContain("Seq Scan");
  });

  it("the page of the series with a letter is read from an index", async () => {
    const plan = await genericPlanOf(page(listed({ search: wordsOf("r") })));

    expect(plan.match(/Index Only Scan using series_by_name/g)).toHaveLength(2);
  });

  it.each([
    { what: "all series", input: {} },
    { what: "the series of a letter", input: { letter: "M" } },
    { what: "the series of a type", input: { type: "manga" } },
  ])("the exact number of $what is read, not counted", async ({ input }) => {
    const plan = await planOf(max(listed(input)));

    expect(plan).not.toContain("on series ");
    expect(plan).toContain("on counters");
  });

  it("all words of a search are looked up at once", async () => {
    const plan = await genericPlanOf(page(searched("wil bel zor")));

    expect(plan.match(/Bitmap Index Scan on contributors_by_grams/g)).toHaveLength(1);
  });

  it("all words of one character are compared at once, in each pass over the names", async () => {
    const plan = await genericPlanOf(max(searched("a e n r 手 ש 9 é")));

    expect(plan.match(/Index Only Scan/g)).toHaveLength(2);
    expect(plan.match(/~~/g)).toHaveLength(2);
    expect(plan.match(/~~ ALL \(\(InitPlan/g)).toHaveLength(2);
  });

  it("no page is looked for where nothing is found", async () => {
    const { text, values } = selectShort(searched("♠"), firstPage);
    const rows = await db.query(`explain (analyze) ${text}`, values as string[]);

    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan.match(/Index Only Scan using public_contributors_by_(sort_)?name.*loops=/g)).toHaveLength(2);
    expect(plan.match(/Index Only Scan using public_contributors_by_(sort_)?name.*never executed/g)).toHaveLength(2);
  });

  it("a search is looked up where its words have grams in the index", async () => {
    const part = fc.constantFrom(
      ..."a e ra 9 é ø ı ŉ þ \u0301 - . % _ \\ ' ا\u064b ١ װ ش\u05b8 か\u3099 ク ｸ 手 क्ष ½ ﬁ ß ẞ".split(" "),
    );
    const texts = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));

    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const found = wordsOf(text);
        const { lookup } = searchPlan(found, keysOf(sql`contributors`));
        const [row] = await db`select searched_grams(${found?.words.join(" ") ?? ""}::text) <> '{}' as "hasGrams"`;
        expect(lookup === "index").toBe(row?.hasGrams);
      }),
    );
  });

  it.each([
    { how: "by name", input: { order: "name-asc" }, slice: {} },
    { how: "by name, backwards", input: { order: "name-desc" }, slice: {} },
    { how: "by registration", input: { order: "registered-asc" }, slice: {} },
    { how: "by registration, backwards", input: { order: "registered-desc" }, slice: {} },
    { how: "from the middle", input: { order: "name-asc" }, slice: { offset: 200 } },
    { how: "behind another page", input: { order: "name-asc" }, slice: { after: { key: "m", id: 77 } } },
    { how: "with a letter", input: { order: "name-asc", search: wordsOf("r") }, slice: {} },
    { how: "with ids", input: { order: "name-asc", ids: "7,77,777" }, slice: {} },
    { how: "with a letter, by registration", input: { order: "registered-desc", search: wordsOf("r") }, slice: {} },
  ] as const)("the users of a role, $how, are found without those of other roles", async ({ input, slice }) => {
    const [{ id: role } = { id: 0 }] = await db<{ id: number }[]>`select id from roles where name = ${lateRole}`;

    const list = users.list({ ...input, role });
    const plan = `${await planOf(asCaller(page(list, slice)))}\n${await planOf(max(list))}`;

    expect(plan).toMatch(/Index.* using users_pkey/);
    expect(plan).not.toMatch(/users_by_|Scan on users\b/);
  });

  it("the exact number of contributors is read, not counted", async () => {
    const plan = await planOf(max(contributors.list({ ...everybody, order: "name-asc" })));

    expect(plan).not.toContain("contributors ");
    expect(plan).toContain("on counters");
  });
});

it.each([
  { what: "a record", filters: { record: 7 }, indexes: /^changes_by_record,history_by_owner$/ },
  {
    what: "a record of an endpoint",
    filters: { record: 7, endpoint: "admin-roles/edit" },
    indexes: /^changes_by_record,history_by_owner$/,
  },
  {
    what: "a record of a resource",
    filters: { record: 7, endpoint: "admin-roles" },
    indexes: /^changes_by_record,history_by_owner$/,
  },
  { what: "a role", filters: { record: "role/7" }, indexes: /^changes_by_record,history_by_owner$/ },
  { what: "a publisher", filters: { record: "publisher/7" }, indexes: /^changes_by_record,history_by_owner$/ },
  // The statistics, which are random, decide whether PostgreSQL begins with the user or with the record.
  { what: "a user and a record", filters: { user: 7, record: "role/7" }, indexes: /^changes_by_(caller|record)/ },
  { what: "a user", filters: { user: 7 }, indexes: /^changes_by_caller$/ },
  { what: "a user by name", filters: { user: "user 7" }, indexes: /^changes_by_caller,changes_by_username$/ },
  { what: "nobody", filters: { user: "nobody" }, indexes: /^changes_by_caller,changes_by_username$/ },
])("In a large ledger the changes of $what are read from an index", async ({ filters, indexes }) => {
  const plan = await planOf(page(changes.list(filters, false)));

  expect([...new Set(plan.match(/(changes|history)_by_\w+/g))].sort().join()).toMatch(indexes);
  expect(plan).not.toMatch(/Seq Scan on (changes|history)|using changes_pkey .*\n(?!\s+Index Cond)/);
});
