import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { clusterArn } from "../../../infra/aws-local/secrets-manager/arns.ts";
import { secretArns } from "../../../infra/local/stage/secrets.ts";
import type { problemsOf as ProblemsOf } from "../../../lib/operators/check-copy.ts";
import { openDatabase, type Sql } from "../../support/database.ts";
import { createDatabase } from "../../support/own-database.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ from: "demo" });
type Template = Parameters<typeof createDatabase>[0];

const copies: Awaited<ReturnType<typeof createDatabase>>[] = [];
let problemsOf: typeof ProblemsOf;

beforeAll(async () => {
  await addChanges(stack.sql);
  // Of another file's import the client would call that file's Data API.
  vi.resetModules();
  ({ problemsOf } = await import("../../../lib/operators/check-copy.ts"));
});

afterAll(async () => {
  for (const each of copies) await each.remove();
});

const begun = new Date().toISOString();

/** Makes the ledger of the last 120 hours, one change in each: the same in the live database and in a copy. */
async function addChanges(sql: Sql): Promise<void> {
  await sql`delete from changes`;
  await sql`
    insert into changes (id, at, key, request_id, endpoint)
    overriding system value
    select id, ${begun}::timestamptz - (120 - id) * interval '1 hour', id, 'a', 'ops/tidy'
    from generate_series(1, 120) as id
  `;
}

/** A copy of a template, which is then spoilt. */
async function copyOf(template: Template, spoil: (sql: Sql) => Promise<unknown>): Promise<string> {
  const copy = await createDatabase(template);
  copies.push(copy);
  const { name } = copy;
  const sql = openDatabase(`${inject("ownerUrl")}/${name}`, { max: 1 });
  await spoil(sql);
  await sql.end();
  return name;
}

async function ledger(sql: Sql): Promise<void> {
  await addChanges(sql);
  await sql`delete from changes where id > 100`;
}

const check = (copy: string) =>
  problemsOf({
    copy: { resourceArn: clusterArn, secretArn: secretArns.master, database: copy },
    live: { resourceArn: clusterArn, secretArn: secretArns.operator, database: process.env.DATABASE_NAME },
    knownContributor: "naoki-urasawa",
    hours: 26,
    deadline: Number.POSITIVE_INFINITY,
  });

describe("The checks of a restored copy", () => {
  it.each<[string, Template, (sql: Sql) => Promise<unknown>, (string | RegExp)[]]>([
    ["of last night", "demo", ledger, []],
    ["without tables", "template1", async () => {}, ["The copy is empty: it has not even tables"]],
    [
      "that is empty",
      "blank",
      async () => {},
      [
        "The copy has no contributor naoki-urasawa",
        /^The copy has 0 contributors, the live database \d+$/,
        /^The copy has 0 publishers, the live database \d+$/,
        /^The copy has 0 series, the live database \d+$/,
        /^The copy is too old: its ledger ends at 1, and \d+ was written more than 26 hours ago$/,
      ],
    ],
    [
      "of another database, which lacks half the rows",
      "demo",
      async (sql) => {
        await ledger(sql);
        await sql`set colophon.recording = off`;
        await sql`update contributors set slug = 'somebody-else' where slug = 'naoki-urasawa'`;
        await sql`delete from publishers where id % 2 = 0`;
      },
      ["The copy has no contributor naoki-urasawa", /^The copy has \d+ publishers, the live database \d+$/],
    ],
    [
      "whose ledger somebody has changed",
      "demo",
      async (sql) => {
        await ledger(sql);
        await sql`update changes set endpoint = 'ops/migrate' where id = 50`;
      },
      [/^The ledger differs before its change \d+$/],
    ],
  ])("of one %s", async (_, template, spoil, problems) => {
    const found = await check(await copyOf(template, spoil));

    expect(found).toEqual(problems.map((each) => (typeof each === "string" ? each : expect.stringMatching(each))));
  });
});

describe("ops-check-copy", () => {
  const invoke = (payload: object) =>
    stack.lambda.invoke("ops-check-copy", {
      cluster: clusterArn.replace(/[^:]*$/, "colophon-prod-database-copy"),
      secret: secretArns.master,
      knownContributor: "naoki-urasawa",
      hours: 26,
      ...payload,
    });

  it("tells what is wrong with a copy, and compares no cluster but one that was restored for a test", async () => {
    const problems = ["The copy has no contributor nobody"];
    expect(await invoke({ knownContributor: "nobody" })).toEqual({ result: { problems } });
    const errorMessage = expect.stringContaining("Invalid payload: cluster");
    expect(await invoke({ cluster: clusterArn })).toMatchObject({ error: { errorMessage } });
  });
});
