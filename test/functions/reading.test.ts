import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { type Declaration, functionName, isNavigation } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { identifier, openDatabase, row, type Sql } from "../support/database.ts";
import { anAdministrator, aUser, type Person } from "../support/people.ts";
import { sampleUrl } from "../support/samples.ts";
import { useStack } from "../support/stack.ts";

/* What reading does without: a database that can be written, and the end of other people's changes. */

/** The Data API of this machine has no more sessions for the calls of one database user. */
const sessionsMax = 20;

const stack = useStack({ from: "demo", limits: { environments: sessionsMax } });
const administrator = useAdministrator(stack);
let lines: string[];

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

interface Rows {
  readonly sql: Sql;
  readonly id: number;
  readonly caller: Person;
}

describe.each([
  ["admin-users", aUser, "users", "user_locks", "user_id"],
  ["admin-contributors", aContributor, "contributors", "contributor_locks", "contributor_id"],
] as const)(
  "A detail in %s is shown without an edit lock, and the log warns",
  (resource, make, table, locks, reference) => {
    it.each<[string, (rows: Rows) => Promise<unknown>]>([
      ["the record", ({ sql, id }) => sql`delete from ${identifier(table)} where id = ${id}`],
      ["the caller", ({ sql, caller }) => sql`select from users where id = ${caller.id} for update`],
      [
        "the edit lock",
        ({ sql, id, caller }) =>
          sql`insert into ${identifier(locks)} ${row({ [reference]: id, editor_id: caller.id, expires_at: new Date() })}`,
      ],
    ])("while a stuck change has %s", async (_, hold) => {
      const { id } = await make(stack.sql);
      const caller = await anAdministrator(stack.sql);
      const open = () => stack.call(`${resource}/id`, { as: caller.token, path: { id } });

      const { status, body, headers } = await stack.sql.begin(async (sql) => {
        await hold({ sql, id, caller });
        return open();
      });

      expect([status, body.id]).toEqual([200, id]);
      expect(warnings()).toEqual([[`${resource}-id`, headers.get("x-amzn-requestid")]]);
    });
  },
);

const reads = endpoints.filter((each) => each.method === "GET" && !isNavigation(each));

async function read(declaration: Declaration): Promise<{ status: number; requestId: string | null }> {
  const response = await fetch(stack.url + (await sampleUrl(declaration)), {
    headers: { Cookie: `refreshToken=${administrator.token}` },
  });
  await response.text();
  return { status: response.status, requestId: response.headers.get("x-amzn-requestid") };
}

const databaseName = async () =>
  (await stack.sql<{ name: string }[]>`select current_database() as name`)[0]?.name ?? "";

describe("While as many changes as there are sessions for them do not end", () => {
  let superuser: Sql;
  let edits: Promise<unknown>;

  const edit = async () => {
    const { id } = await aContributor(stack.sql, { public: false });
    return stack.call("admin-contributors/edit", {
      as: administrator.token,
      path: { id },
      body: { first_name: `Edited ${id}` },
    });
  };
  const stuckSessions = () => superuser`
    select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'
  `;

  beforeAll(async () => {
    superuser = openDatabase(`${inject("databaseUrl")}/${await databaseName()}`, { max: 1 });
    await superuser`
      create function linger() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return new; end $$
    `;
    await superuser`
      create trigger linger before insert on changes
        for each row when (new.endpoint is not null) execute function linger()
    `;
    await stack.lambda.provision("admin-contributors-edit", sessionsMax);
    edits = Promise.all(Array.from({ length: sessionsMax }, edit));
    await vi.waitUntil(async () => (await stuckSessions()).length >= sessionsMax, { timeout: 30_000 });
  });

  afterAll(async () => {
    await superuser`
      create or replace function linger() returns trigger language plpgsql as $$ begin return new; end $$
    `;
    for (const { pid } of await stuckSessions()) await superuser`select pg_cancel_backend(${pid})`;
    await edits;
    await superuser.end();
  });

  it("all reads return 200", async () => {
    const statuses = await Promise.all(reads.map(async (each) => [each.path, (await read(each)).status]));

    expect(statuses).toEqual(reads.map(({ path }) => [path, 200]));
    expect(await stuckSessions()).toHaveLength(sessionsMax);
  });
});

describe("On a database that can only be read", () => {
  beforeAll(async () => {
    const name = await databaseName();
    await stack.sql`alter database ${identifier(name)} set default_transaction_read_only = on`;
    const superuser = openDatabase(`${inject("databaseUrl")}/${name}`, { max: 1 });
    // The setting is that of new sessions.
    await superuser`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'data-api'
    `;
    await superuser.end();
  });

  it.each(reads.map((each) => [each.path, each] as const))("GET %s returns 200", async (_, declaration) => {
    const { status, requestId } = await read(declaration);

    expect(status).toBe(200);
    expect(warnings()).toEqual(declaration.takesEditLock ? [[functionName(declaration), requestId]] : []);
  });
});
