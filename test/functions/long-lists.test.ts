import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import usersEvent from "../../events/admin-users/list.json" with { type: "json" };
import contributorsEvent from "../../events/contributors/list.json" with { type: "json" };
import { endpointPath, isPublic } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { useAdministrator } from "../support/callers.ts";
import { aContributor, addLongContributors, aPublisher, aSeries } from "../support/catalogue.ts";
import type { Sql } from "../support/database.ts";
import { envelope } from "../support/envelope.ts";
import { anAdministrator, aUser } from "../support/people.ts";
import { aRole, give } from "../support/records.ts";
import { type Stack, useStack } from "../support/stack.ts";
import { broken as failure } from "../support/unchanged.ts";

/* Lists that are longer than a response of the Data API, and the readers and databases that they wait for. */

let lines: string[];

beforeEach(() => {
  lines = [];
  for (const level of ["log", "error"] as const)
    vi.spyOn(console, level).mockImplementation((line) => void lines.push(String(line)));
  return () => vi.restoreAllMocks();
});

/** The lines of the log that report a broken list. */
const broken = (endpoint: string) =>
  lines
    .filter((line) => line.includes('"broken":true'))
    .map((line) => JSON.parse(line))
    .filter((line) => line.endpoint === endpoint);

/** A whole list, of which nothing has been read yet: the reader reads at the function, without a network's buffers. */
async function begin({ lambda }: Stack, name: string, headers: object, event: object = contributorsEvent) {
  const invocation = await lambda.stream(name, { ...event, headers, queryStringParameters: { client: "1" } });
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.body;
}

/** Gives users roles whose descriptions no response of the Data API has room for. */
async function addLongRoles(sql: Sql, count: number): Promise<void> {
  const roles = await Promise.all(Array.from({ length: count }, () => aRole(sql)));
  await sql`update roles set description = ${"漢".repeat(20_000)} where id = any(${roles.map(({ id }) => id)})`;
  for (let users = 0; users < 4; users += 1) await give(sql, await aUser(sql), ...roles);
}

const textOf = (content: Buffer, encoding: unknown): string =>
  (encoding === "gzip" ? gunzipSync(content) : content).toString();

describe("A long list", () => {
  /** On a machine that stands still, Lambda must not end a function before it gives up. */
  const stack = useStack({ timeouts: { publicRecordInMilliseconds: 14_000 } });
  const administrator = useAdministrator(stack);
  const count = 5_000;

  describe("of many records", () => {
    beforeAll(async () => {
      await stack.sql`
        insert into contributors (first_name, last_name, slug, public)
        select 'Ann', lpad(n::text, 5, '0'), 'ann-' || n, true from generate_series(1, ${count}::int) as n
      `;
    });
    afterAll(() => stack.sql`delete from contributors`);

    const list = async (query = {}) => (await stack.call("contributors/list", { query: { client: 1, ...query } })).body;

    it.each(["name-asc", "name-desc", "added-asc", "added-desc"])(
      "gives each once in the order %s, by a first statement that finds too many and one for each page",
      async (order) => {
        const body = await list({ order, offset: 10, limit: 4_500 });

        const expected = Array.from({ length: 4_500 }, (_, n) => (order.endsWith("asc") ? n + 11 : count - 10 - n));
        expect(body.contributors.map(({ last_name }: { last_name: string }) => Number(last_name))).toEqual(expected);
        expect(body).toMatchObject({ max: count, from: 10, to: 4_510 });
        expect(stack.dataApi.calls.length).toBe(4);
      },
    );

    it("neither repeats nor drops records while others are added and removed between pages", async () => {
      stack.dataApi.intercept(async ({ number }) => {
        if (number === 3) {
          await stack.sql`
            insert into contributors (first_name, slug, public) values ('Aaron', 'aaron', true), ('Zed', 'zed', true)
          `;
          await stack.sql`delete from contributors where last_name = '00001'`;
        }
        return undefined;
      });

      const { contributors, to } = await list();

      const ids = contributors.map(({ id }: { id: number }) => id);
      expect([new Set(ids).size, to]).toEqual([count + 1, ids.length]);
      expect(contributors.at(-1).first_name).toBe("Zed");
    });

    it("breaks the connection when a later page fails", async () => {
      stack.dataApi.intercept(({ number }) => (number >= 3 ? failure : undefined));

      const response = await fetch(`${stack.url}/contributors?client=1`);

      expect(response.status).toBe(200);
      await expect(response.text()).rejects.toThrow();
    });

    it.each([
      { accepted: "identity", encoding: null },
      { accepted: "gzip, br", encoding: "gzip" },
      { accepted: "gzip;q=0", encoding: null },
    ])(
      "is whole where a chunk ends within a character, and compressed if accepted: $accepted",
      async ({ accepted, encoding }) => {
        await stack.sql`
          insert into contributors (first_name, last_name, slug, public)
          select repeat('𠀀', 100), n, 'ideograph-' || n, true from generate_series(1, 400) as n
        `;

        const url = `${stack.url}/contributors?client=1&search=${encodeURIComponent("𠀀")}`;
        const response = await fetch(url, { headers: { "Accept-Encoding": accepted } });

        expect(response.headers.get("content-encoding")).toBe(encoding);
        expect(response.headers.get("vary")).toContain("Accept-Encoding");
        const { contributors } = (await response.json()) as { contributors: { first_name: string }[] };
        const names = contributors.map(({ first_name }) => first_name);
        expect(names).toEqual(Array(400).fill("𠀀".repeat(100)));
        await stack.sql`delete from contributors where slug like 'ideograph-%'`;
      },
    );
  });

  describe("of long records", () => {
    const long = 6_000;

    beforeAll(async () => {
      await addLongContributors(stack.sql, long);
      await addLongRoles(stack.sql, 25);
    });

    /** The number of calls once there are no more of them. */
    async function settled(): Promise<number> {
      let before: number;
      do {
        before = stack.dataApi.calls.length;
        await sleep(300);
      } while (stack.dataApi.calls.length > before);
      return before;
    }

    /** What sessions hold: a transaction that is under way, or a lock. */
    const held = () => stack.sql`
      select pid, state, query from pg_stat_activity
      where
        datname = current_database() and pid <> pg_backend_pid()
        -- Autovacuum has no role.
        and usename is not null
        and (state <> 'idle' or exists (select from pg_locks where pg_locks.pid = pg_stat_activity.pid))
    `;

    it.each([
      { what: "a list", name: "contributors-list", encoding: "identity", event: contributorsEvent, max: long },
      { what: "a compressed list", name: "contributors-list", encoding: "gzip", event: contributorsEvent, max: long },
      // Each page is read in a transaction.
      { what: "an administrative list", name: "admin-users-list", encoding: undefined, event: usersEvent, max: 5 },
    ])("keeps no transaction or lock for a slow reader of $what", async ({ name, encoding, event, max }) => {
      const headers = {
        Cookie: `refreshToken=${administrator.token}`,
        ...(encoding && { "Accept-Encoding": encoding }),
      };
      const body = await begin(stack, name, headers, event);
      const callsBefore = await settled();

      // A page that is slow to come still has its transaction for a while.
      await expect.poll(held, { timeout: 20_000 }).toEqual([]);

      expect(JSON.parse(textOf(await buffer(body), encoding))).toMatchObject({ max, to: max });
      expect(stack.dataApi.calls.length).toBeGreaterThan(callsBefore);
    });

    it("breaks off with a warning for a caller who is logged out meanwhile", async () => {
      const { id, token } = await anAdministrator(stack.sql);
      const body = await begin(stack, "admin-users-list", { Cookie: `refreshToken=${token}` }, usersEvent);
      await settled();

      await administrator.call("admin-users/logout", { path: { id } });

      await expect(buffer(body)).rejects.toThrow();
      expect(broken("admin-users-list")).toMatchObject([{ level: "warn", error: { name: "ContractError" } }]);
      await stack.sql`delete from users where id = ${id}`;
    });

    it("breaks off for visitors, not for the panel, when its next page does not come", async () => {
      const { promise: answering, resolve: result } = Promise.withResolvers<undefined>();
      const calls = { guarded: 0, open: 0 };
      // The first page of such a list takes two calls.
      stack.dataApi.intercept(({ sql }) =>
        ++calls[sql?.includes("caller") ? "guarded" : "open"] > 2 ? answering : undefined,
      );
      const headers = { "Accept-Encoding": "identity", Cookie: `refreshToken=${administrator.token}` };
      const open = (path: string) => fetch(`${stack.url}${path}?client=1`, { headers });
      const [forVisitors, forPanel] = await Promise.all([open("/contributors"), open("/admin-contributors")]);
      const isRead = vi.fn();
      const read = forPanel.text().finally(isRead);

      await expect(forVisitors.arrayBuffer()).rejects.toThrow();

      expect(isRead).not.toHaveBeenCalled();
      result(undefined);
      expect(JSON.parse(await read)).toMatchObject({ max: long });
    });
  });

  describe("or a record, while the database does not respond", () => {
    const reads = endpoints.filter(isPublic).map(endpointPath);

    beforeAll(async () => {
      await aContributor(stack.sql, { slug: "read" });
      await aPublisher(stack.sql, { slug: "read" });
      await aSeries(stack.sql, {}, { slug: "read" });
    });

    const sendAll = () =>
      Promise.all(reads.map((name) => stack.call(name, { path: { slug: "read", id: 1 }, query: { client: 1 } })));

    it("is 503 for visitors, while the panel waits", async () => {
      const { promise: answering, resolve: result } = Promise.withResolvers<undefined>();
      stack.dataApi.intercept(() => answering);
      const isShown = vi.fn();
      const shown = administrator.call("admin-roles/list").finally(isShown);

      const replies = await sendAll();

      expect(isShown).not.toHaveBeenCalled();
      for (const { body, headers } of replies) {
        expect(body).toEqual(envelope(503, "Service unavailable, try again in a few seconds"));
        expect(headers.get("Retry-After")).toBe("5");
      }
      // Lambda's own time-out would get the same response from the gateway.
      expect(lines.join()).not.toContain("Task timed out");
      result(undefined);
      expect((await shown).status).toBe(200);
    });

    it("is 200 by a second attempt when the first one gets no response", async () => {
      stack.dataApi.intercept(({ number }) => (number <= reads.length ? new Promise(() => {}) : undefined));

      expect((await sendAll()).map(({ status }) => status)).toEqual(reads.map(() => 200));
    });
  });
});

describe("A list that takes longer than its function may", () => {
  const stack = useStack({ timeouts: { longInMilliseconds: 9_000 } });
  // More than fits into the buffers on the way, compressed or not.
  beforeAll(() => addLongContributors(stack.sql, 6_000));
  /** The function has a second to break off before Lambda's time-out; a busy machine may stand still for so long. */
  const again = { retry: 2 };
  const levels = () => broken("contributors-list").map(({ level }) => level);

  it("is broken off by the function itself while the database makes it wait", again, async () => {
    stack.dataApi.intercept(({ number }) => (number >= 3 ? { kind: "delay", ms: 3_000 } : undefined));

    const response = await fetch(`${stack.url}/contributors?client=1`, { headers: { "Accept-Encoding": "identity" } });
    const reading = response.text();

    await expect(reading).rejects.toThrow();
    expect(response.status).toBe(200);
    await expect.poll(levels).toEqual(["warn"]);
    // Until the first page was there, and not until the list was over.
    const responded = lines.map((each) => JSON.parse(each)).find(({ streamed }) => streamed);
    expect(responded).toMatchObject({ level: "info", endpoint: "contributors-list", status: 200 });
    expect(responded.durationInMilliseconds).toBeLessThan(4_000);
    expect(lines.join()).not.toContain("Task timed out");
  });

  it("is broken off while the client does not read, compressed or not", again, async () => {
    await Promise.all(
      ["identity", "gzip"].map(async (encoding) =>
        once(await begin(stack, "contributors-list", { "Accept-Encoding": encoding }), "error"),
      ),
    );

    await expect.poll(levels).toEqual(["warn", "warn"]);
    expect(lines.join()).not.toContain("Task timed out");
  });
});

describe("The reader of a list", () => {
  const environments = 2;
  const stack = useStack({ limits: { environments } });
  const administrator = useAdministrator(stack);
  const [contributors, roles] = [14_000, 60];
  const cookie = () => ({ Cookie: `refreshToken=${administrator.token}` });
  const tooSlow = expect.objectContaining({
    level: "warn",
    error: expect.objectContaining({ message: "The reader took less than 1000000 bytes in 10 seconds" }),
  });

  beforeAll(async () => {
    await addLongContributors(stack.sql, contributors);
    await addLongRoles(stack.sql, roles);
  });

  /** Reads at a pace, catching up where the machine has stood still, for so long; then the rest at once. */
  async function readAt(bytesPerSecond: number, body: Readable, seconds: number): Promise<string> {
    const start = performance.now();
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      const due = bytes / bytesPerSecond;
      if (due < seconds) await sleep(due * 1_000 - (performance.now() - start));
    }
    expect(bytes).toBeGreaterThan(bytesPerSecond * seconds);
    return Buffer.concat(chunks).toString();
  }

  it("is cut off by its reader alone, who takes less than 100 KB a second for ten seconds", async () => {
    let pages = 0;
    stack.dataApi.intercept(({ sql = "" }) => {
      const isLate = sql.includes("count(*) as permissions") && ++pages <= 3;
      return isLate ? { kind: "delay", ms: 5_000 } : undefined;
    });
    const [short, slow] = [
      await begin(stack, "admin-permissions-list", cookie()),
      await begin(stack, "admin-roles-list", { ...cookie(), "Accept-Encoding": "gzip" }),
    ];
    const isCutOff = async (encoding: string) => {
      const body = await begin(stack, "contributors-list", { "Accept-Encoding": encoding });
      await expect(readAt(20_000, body, 60)).rejects.toThrow("The reader took");
    };
    const isAdmitted = async () => {
      const text = await readAt(200_000, await begin(stack, "admin-contributors-list", cookie()), 14);
      expect(JSON.parse(text)).toMatchObject({ max: contributors, to: contributors });
    };
    const isWaitedFor = async () => {
      const text = gunzipSync(await buffer(slow)).toString();
      expect(pages).toBeGreaterThan(3);
      expect(JSON.parse(text).length).toBeGreaterThan(roles);
    };

    await Promise.all([isCutOff("identity"), isCutOff("gzip"), isAdmitted(), isWaitedFor(), freesTheFunction()]);

    expect(broken("contributors-list")).toEqual([tooSlow, tooSlow]);
    // It has been in the buffers on the way all the time.
    expect(JSON.parse((await buffer(short)).toString())).toHaveLength(15);
    for (const endpoint of ["admin-contributors-list", "admin-roles-list", "admin-permissions-list"])
      expect(broken(endpoint)).toEqual([]);
  });

  /** Who reads nothing at all keeps no environment. */
  async function freesTheFunction(): Promise<void> {
    const responses = await Promise.all(
      Array.from({ length: environments }, async () => {
        const sent = request(`${stack.url}/admin-users`, { headers: cookie() }).end();
        const [response]: IncomingMessage[] = await once(sent, "response");
        return response;
      }),
    );

    const another = async () => (await fetch(`${stack.url}/admin-users?limit=1`, { headers: cookie() })).status;
    await expect.poll(another, { timeout: 60_000 }).toBe(200);

    expect(broken("admin-users-list")).toContainEqual(tooSlow);
    for (const response of responses) response?.destroy();
  }
});
