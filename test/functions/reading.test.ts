import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Sql } from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Declaration, functionName, stem } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { aContributor } from "../support/catalogue.ts";
import { anAdministrator, aUser, type Person } from "../support/people.ts";
import { type Stack, startStack } from "../support/stack.ts";

/* What reading does without: a database that can be written, and the end of other people's changes. */

let stack: Stack;
let administrator: Person;
let lines: string[];

beforeAll(async () => {
  stack = await startStack({ from: "demo" });
  administrator = await anAdministrator(stack.sql);
});

afterAll(() => stack.close());

beforeEach(() => {
  lines = [];
  vi.spyOn(console, "log").mockImplementation((line) => void lines.push(String(line)));
});

afterEach(() => vi.mocked(console.log).mockRestore());

/** The function and the request of each line that warns. */
const warnings = () =>
  lines
    .map((line) => JSON.parse(line))
    .filter(({ level }) => level === "warn")
    .map(({ endpoint, requestId }) => [endpoint, requestId]);

/** The URL of an endpoint's sample event. */
async function sampleOf(declaration: Declaration): Promise<string> {
  const file = join(import.meta.dirname, "../../events", `${stem(declaration)}.json`);
  const { path, queryStringParameters } = JSON.parse(await readFile(file, "utf8"));
  return `${path}?${new URLSearchParams(queryStringParameters ?? {})}`;
}

interface Rows {
  readonly sql: Sql;
  readonly id: number;
  readonly caller: Person;
}

const kinds = [
  ["admin-users", (sql: Sql) => aUser(sql), "users", "user_locks", "user_id"],
  ["admin-contributors", (sql: Sql) => aContributor(sql), "contributors", "contributor_locks", "contributor_id"],
] as const;

const stuck = kinds.flatMap(([resource, make, table, locks, reference]) =>
  (
    [
      ["the record", ({ sql, id }: Rows) => sql`delete from ${sql(table)} where id = ${id}`],
      ["the caller", ({ sql, caller }: Rows) => sql`select from users where id = ${caller.id} for update`],
      [
        "the edit lock",
        ({ sql, id, caller }: Rows) =>
          sql`insert into ${sql(locks)} ${sql({ [reference]: id, holder_id: caller.id, expires_at: new Date() })}`,
      ],
    ] as const
  ).map(([row, hold]) => [resource, row, make, hold] as const),
);

describe("A detail is shown without an edit lock, and the log warns", () => {
  it.each(stuck)("in %s while a stuck change has %s", async (resource, _, make, hold) => {
    const { id } = await make(stack.sql);
    const caller = await anAdministrator(stack.sql);
    const open = () => stack.call(`${resource}/id`, { as: caller.token, path: { id } });

    const { status, body, headers } = await stack.sql.begin(async (sql) => {
      await hold({ sql: sql as unknown as Sql, id, caller });
      return open();
    });

    expect([status, body.id]).toEqual([200, id]);
    expect(warnings()).toEqual([[`${resource}-id`, headers.get("x-amzn-requestid")]]);
  });
});

describe("On a database that can only be read", () => {
  beforeAll(async () => {
    const [{ name = "" } = {}] = await stack.sql<{ name: string }[]>`select current_database() as name`;
    await stack.sql`alter database ${stack.sql(name)} set default_transaction_read_only = on`;
    await stack.dataApi.closeDatabase(name);
  });

  const reads = endpoints.filter(({ method }) => method === "GET");

  it.each(reads.map((each) => [each.path, each] as const))("GET %s answers 200", async (_, declaration) => {
    const response = await fetch(stack.url + (await sampleOf(declaration)), {
      headers: { Cookie: `refreshToken=${administrator.token}` },
    });

    await response.text();
    expect(response.status).toBe(200);
    const warning = [functionName(declaration), response.headers.get("x-amzn-requestid")];
    expect(warnings()).toEqual(declaration.locks ? [warning] : []);
  });
});
