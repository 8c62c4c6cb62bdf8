import { randomUUID } from "node:crypto";
import postgres from "postgres";
import sql, { empty, type Sql } from "sql-template-tag";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { lateRole, scale, scaleUsers } from "../../../infra/local/demo/scale.ts";
import type { ListQuery, Slice } from "../../../lib/database/list.ts";
import * as changes from "../../../lib/queries/changes.ts";
import * as contributors from "../../../lib/queries/contributors.ts";
import * as publishers from "../../../lib/queries/publishers.ts";
import * as users from "../../../lib/queries/users.ts";

const database = `plans_${randomUUID().replaceAll("-", "")}`;
const admin = postgres(`${inject("databaseUrl")}/postgres`, { max: 1 });
const db = postgres(`${inject("databaseUrl")}/${database}`, { max: 1 });

beforeAll(async () => {
  await admin`create database ${admin(database)} template demo`;
  await scale(`${inject("databaseUrl")}/${database}`, 30_000, () => undefined);
  await scaleUsers(`${inject("databaseUrl")}/${database}`, 3_000, 20);
  await db`
    insert into changes (key, request_id, endpoint, caller_id, username, record_id)
    select number, number, 'admin-roles/edit', number % 200, 'User ' || number % 200, number % 300
    from generate_series(1, 60000) as number
  `;
  await db`analyze changes`;
});

afterAll(async () => {
  await db.end();
  await admin`drop database ${admin(database)} with (force)`;
  await admin.end();
});

/** The plan PostgreSQL makes for a statement with its parameters. */
async function planOf(statement: Sql): Promise<string> {
  const rows = await db.unsafe(`explain ${statement.text}`, statement.values as string[]);
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

const firstPage: Slice = { after: undefined, limit: 50, offset: 0, limitMax: sql`400` };
const page = ({ shared, fields, rows }: ListQuery<unknown>, slice: Partial<Slice> = {}): Sql => sql`
  ${shared ? sql`with ${shared}` : empty}
  select ${fields} ${rows({ ...firstPage, ...slice })}
`;
const everybody = { client: 1, search: undefined };
const asCaller = (statement: Sql): Sql => sql`
  select * from (select 1::bigint as id) as caller cross join lateral (${statement}) as page
`;

describe("In a large catalogue", () => {
  it.each([
    ["the first page by name", page(contributors.list({ ...everybody, order: "name-asc" }))],
    ["the first page, backwards", page(contributors.list({ ...everybody, order: "name-desc" }))],
    ["the first page as added", page(contributors.list({ ...everybody, order: "added-desc" }))],
    [
      "a later page, by key",
      page(contributors.list({ ...everybody, order: "name-asc" }), {
        after: { key: "hana barcalan", id: 77 },
        limit: 50,
        offset: 0,
      }),
    ],
    ["a search", page(contributors.list({ client: 1, search: "rananan", order: "name-asc" }))],
    ["a slug", contributors.find("made-up-777").select],
    ["a random slug", contributors.random(1).select],
    [
      "the works of a contributor",
      page(contributors.works(300, { ...everybody, order: "name-asc", user_lang: "German" })),
    ],
    [
      "a search among the works of a contributor",
      page(contributors.works(300, { client: 1, search: "rananan", order: "name-asc", user_lang: "German" })),
    ],
    ["a publisher by slug", publishers.find("made-up-300").select],
  ])("%s is read from an index", async (_, statement) => {
    expect(await planOf(statement)).not.toMatch(
      /Seq Scan on (contributors|series|series_aliases|series_contributors|volumes)\b/,
    );
  });

  it.each([
    ["by name", { order: "name-asc" }, {}],
    ["by name, backwards", { order: "name-desc" }, {}],
    ["by registration", { order: "registered-asc" }, {}],
    ["by registration, backwards", { order: "registered-desc" }, {}],
    ["from the middle", { order: "name-asc" }, { offset: 200 }],
    ["behind another page", { order: "name-asc" }, { after: { key: "vanan", id: 77 } }],
    ["with a letter", { order: "name-asc", search: "r" }, {}],
    ["with a letter, by registration", { order: "registered-desc", search: "r" }, {}],
  ] as const)("the users of a role, %s, are found without those of other roles", async (_, input, slice) => {
    const [{ id: role } = { id: 0 }] = await db<{ id: number }[]>`select id from roles where name = ${lateRole}`;

    const list = users.list({ ...input, role });
    const plan = `${await planOf(asCaller(page(list, slice)))}\n${await planOf(list.max)}`;

    expect(plan).toMatch(/Index.* using users_pkey/);
    expect(plan).not.toMatch(/users_by_|Scan on users\b/);
  });

  it("the exact number of contributors is read, not counted", async () => {
    const plan = await planOf(contributors.list({ ...everybody, order: "name-asc" }).max);

    expect(plan).not.toContain("contributors ");
    expect(plan).toContain("on tallies");
  });
});

describe("In a large ledger", () => {
  it.each([
    ["a record", { record: 7 }, ["changes_by_record"]],
    ["a record of an endpoint", { record: 7, endpoint: "admin-roles/edit" }, ["changes_by_record"]],
    ["a record of a resource", { record: 7, endpoint: "admin-roles" }, ["changes_by_record"]],
    ["a user", { user: 7 }, ["changes_by_caller"]],
    ["a user by name", { user: "user 7" }, ["changes_by_username", "changes_by_caller"]],
    ["nobody", { user: "nobody" }, ["changes_by_username", "changes_by_caller"]],
  ])("the changes of %s are read from an index", async (_, filters, indexes) => {
    const plan = await planOf(page(changes.list(filters)));

    expect(plan.match(/changes_by_\w+/g)).toEqual(indexes);
    // The rows of the page are read by their ids; the ids of `changes_1` and `changes_2` are what is looked for.
    expect(plan).not.toMatch(/Seq Scan on changes|changes_pkey on changes changes_/);
  });
});
