import { raw } from "sql-template-tag";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { type Declaration, functionName, isNavigation, isPublic, routesOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { exposedHeaders } from "../../../lib/contract/headers.ts";
import type { Caller } from "../../support/callers.ts";
import { identifier, openDatabase, row, type Sql } from "../../support/database.ts";
import { panelOrigin } from "../../support/environment.ts";
import { anAdministrator, type Person } from "../../support/people.ts";
import { makers } from "../../support/requests.ts";
import { sampleUrl } from "../../support/samples.ts";
import type { Stack } from "../../support/stack.ts";

/** The Data API of this machine has no more sessions for the calls of one database user. */
export const sessionsMax = 20;

/** HEAD, and what reading does without: a database that can be written, and the end of other people's changes. */
export function testReading(stack: Stack, administrator: Caller): void {
  describe("HEAD", () => testHead(stack, administrator));

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

  describe.each([
    { table: "users", locks: "user_locks", reference: "user_id" },
    { table: "contributors", locks: "contributor_locks", reference: "contributor_id" },
  ] as const)("A detail of $table is shown without an edit lock, and the log warns", ({ table, locks, reference }) => {
    it.each<{ what: string; hold: (sql: Sql, id: number, caller: Person) => Promise<unknown> }>([
      { what: "the record", hold: (sql, id) => sql`delete from ${identifier(table)} where id = ${id}` },
      { what: "the caller", hold: (sql, _, caller) => sql`select from users where id = ${caller.id} for update` },
      {
        what: "the edit lock",
        hold: (sql, id, caller) =>
          sql`insert into ${identifier(locks)} ${row({ [reference]: id, editor_id: caller.id, expires_at: new Date() })}`,
      },
    ])("while a stuck change has $what", async ({ hold }) => {
      const { id } = await makers[table](stack.sql);
      const caller = await anAdministrator(stack.sql);

      const { status, body, headers } = await stack.sql.begin(async (sql) => {
        await hold(sql, id, caller);
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
      // The letter stays: edits that change it wait for each other, since it has a counter.
      return administrator.call("admin-contributors/edit", { path: { id }, body: { first_name: `Changed ${id}` } });
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

/** HEAD, over HTTP: the headers of a GET, without its body (RFC 9110, "HEAD"). */
function testHead(stack: Stack, administrator: Caller): void {
  /** What differs from response to response, and what only a body needs. */
  const passing = ["connection", "content-length", "date", "keep-alive", "transfer-encoding", "x-amzn-requestid"];

  async function send(method: string, path: string, headers: Readonly<Record<string, string>> = {}) {
    stack.dataApi.calls.length = 0;
    const response = await fetch(stack.url + path, { method, headers: { "Accept-Encoding": "identity", ...headers } });
    const shown = [...response.headers].filter(([name]) => !passing.includes(name));
    return { status: response.status, headers: Object.fromEntries(shown), body: await response.text() };
  }

  const open = endpoints.filter(isPublic);
  const guarded = endpoints.filter((each) => !isPublic(each));

  describe.each(open.map((each) => [each.path, each] as const))("HEAD %s", (_, declaration) => {
    it("returns 200 with the headers of its GET and without a body", async () => {
      const path = await sampleUrl(declaration);

      const { body, ...shown } = await send("GET", path, { Origin: "https://anyone.example" });
      const head = await send("HEAD", path, { Origin: "https://anyone.example" });

      expect([shown.status, body.length > 0]).toEqual([200, true]);
      expect(head.headers).toMatchObject({
        "access-control-allow-origin": "*",
        "access-control-expose-headers": exposedHeaders,
        "cache-control": expect.any(String),
        "x-content-type-options": "nosniff",
      });
      expect(head.headers).not.toHaveProperty("access-control-allow-credentials");
      const { etag: _, ...unread } = shown.headers;
      const headers = "list" in declaration.response ? unread : shown.headers;
      expect(head).toEqual({ ...shown, headers, body: "" });
      // Neither the records nor their number are needed.
      if ("list" in declaration.response) expect(stack.dataApi.calls).toEqual([]);
    });

    it("may be sent with the cookie by a page of a listed origin, as its GET", async () => {
      for (const path of [await sampleUrl(declaration), `${declaration.path.replace(/\{\w+\}/, "nothing")}?limit=-1`])
        for (const method of ["GET", "HEAD"])
          expect((await send(method, path, { Origin: panelOrigin })).headers).toMatchObject({
            "access-control-allow-origin": panelOrigin,
            "access-control-allow-credentials": "true",
            vary: expect.stringContaining("Origin"),
          });
    });

    it("is allowed by the preflight beside GET, and returns errors like its GET", async () => {
      const { headers } = await send("OPTIONS", declaration.path.replace(/\{\w+\}/, "1"));

      expect(headers).toHaveProperty("access-control-allow-methods", "GET,HEAD");
      const wrong = `${declaration.path.replace(/\{\w+\}/, "nothing-of-this-name")}?limit=-1`;
      for (const path of [wrong, ...routesOf(declaration)]) {
        const { body: _, ...refused } = await send("GET", path);

        expect(await send("HEAD", path)).toEqual({ ...refused, body: "" });
      }
    });

    it.runIf("record" in declaration.response && !declaration.notCacheable)("returns 304 to a known ETag", async () => {
      const path = await sampleUrl(declaration);
      const { headers } = await send("HEAD", path);

      const again = await send("HEAD", path, { "If-None-Match": headers.etag ?? "" });
      expect(again).toMatchObject({ status: 304, body: "" });
    });
  });

  it.each(guarded.flatMap((each) => routesOf(each).map((path) => [path, each.method] as const)))(
    "HEAD of an administrative endpoint is nowhere, and does nothing: %s, where there is %s",
    async (path) => {
      const head = await send("HEAD", path.replace(/\{\w+\}/, "1"), { Cookie: `refreshToken=${administrator.token}` });

      expect([head.status, head.body]).toEqual([404, ""]);
      expect(stack.dataApi.calls).toEqual([]);
    },
  );
}
