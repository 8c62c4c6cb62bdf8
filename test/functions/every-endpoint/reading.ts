import { raw } from "sql-template-tag";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { type Declaration, functionName, isNavigation } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import type { Caller } from "../../support/callers.ts";
import { identifier, openDatabase, row, type Sql } from "../../support/database.ts";
import { anAdministrator, type Person } from "../../support/people.ts";
import { makers } from "../../support/requests.ts";
import { sampleUrl } from "../../support/samples.ts";
import type { Stack } from "../../support/stack.ts";

/** The Data API of this machine has no more sessions for the calls of one database user. */
export const sessionsMax = 20;

/** What reading does without: a database that can be written, and the end of other people's changes. */
export function testReading(stack: Stack, administrator: Caller): void {
  let lines: string[];
  let superuser: Sql;

  beforeAll(async () => {
    superuser = openDatabase(`${inject("databaseUrl")}/${process.env.DATABASE_NAME}`, { max: 1 });
  });
  afterAll(() => superuser.end());

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
    ["users", "user_locks", "user_id"],
    ["contributors", "contributor_locks", "contributor_id"],
  ] as const)("A detail of %s is shown without an edit lock, and the log warns", (table, locks, reference) => {
    it.each<[string, (rows: Rows) => Promise<unknown>]>([
      ["the record", ({ sql, id }) => sql`delete from ${identifier(table)} where id = ${id}`],
      ["the caller", ({ sql, caller }) => sql`select from users where id = ${caller.id} for update`],
      [
        "the edit lock",
        ({ sql, id, caller }) =>
          sql`insert into ${identifier(locks)} ${row({ [reference]: id, editor_id: caller.id, expires_at: new Date() })}`,
      ],
    ])("while a stuck change has %s", async (_, hold) => {
      const { id } = await makers[table](stack.sql);
      const caller = await anAdministrator(stack.sql);

      const { status, body, headers } = await stack.sql.begin(async (sql) => {
        await hold({ sql, id, caller });
        return stack.call(`admin-${table}/id`, { as: caller.token, path: { id } });
      });

      expect([status, body.id]).toEqual([200, id]);
      expect(warnings()).toEqual([[`admin-${table}-id`, headers.get("x-amzn-requestid")]]);
    });
  });

  const reads = endpoints.filter((each) => each.method === "GET" && !isNavigation(each));

  async function read(declaration: Declaration): Promise<{ status: number; requestId: string | null }> {
    const response = await fetch(stack.url + (await sampleUrl(declaration)), {
      headers: { Cookie: `refreshToken=${administrator.token}` },
    });
    await response.text();
    return { status: response.status, requestId: response.headers.get("x-amzn-requestid") };
  }

  describe("While as many changes as there are sessions for them do not end", () => {
    let edits: Promise<unknown>;

    const edit = async () => {
      const { id } = await makers.contributors(stack.sql, { public: false });
      return administrator.call("admin-contributors/edit", { path: { id }, body: { first_name: `Edited ${id}` } });
    };
    const stuckSessions = () => superuser`
      select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'
    `;

    beforeAll(async () => {
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
    });

    it("all reads return 200", async () => {
      const statuses = await Promise.all(reads.map(async (each) => [each.path, (await read(each)).status]));

      expect(statuses).toEqual(reads.map(({ path }) => [path, 200]));
      expect(await stuckSessions()).toHaveLength(sessionsMax);
    });
  });

  describe("On a database that can only be read", () => {
    const setReadOnly = async (isReadOnly: boolean) => {
      const database = identifier(process.env.DATABASE_NAME ?? "");
      await stack.sql`alter database ${database} set default_transaction_read_only = ${raw(`${isReadOnly}`)}`;
      // The setting is that of new sessions.
      await superuser`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'data-api'
      `;
    };
    beforeAll(() => setReadOnly(true));
    afterAll(() => setReadOnly(false));

    it.each(reads.map((each) => [each.path, each] as const))("GET %s returns 200", async (_, declaration) => {
      const { status, requestId } = await read(declaration);

      expect(status).toBe(200);
      expect(warnings()).toEqual(declaration.takesEditLock ? [[functionName(declaration), requestId]] : []);
    });
  });
}
