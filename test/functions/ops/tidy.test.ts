import { randomUUID } from "node:crypto";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { useAdministrator } from "../../support/callers.ts";
import { identifier } from "../../support/database.ts";
import { aSession } from "../../support/people.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const administrator = useAdministrator(stack);

beforeEach(async () => {
  await tidied({});
  stack.dataApi.calls.length = 0;
});

afterEach(() => stack.dataApi.intercept(undefined));

const tidy = (payload: object) => stack.lambda.invoke("ops-tidy", payload);

async function tidied(payload: object): Promise<Record<"changes" | "sessions" | "tags" | "releases", number>> {
  const invocation = await tidy(payload);
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.result as Record<"changes" | "sessions" | "tags" | "releases", number>;
}

/** So many changes, so many days old, each with a row of the history. */
const record = (days: number, rows = 1) => stack.sql`
  with added as (
    insert into changes (key, request_id, endpoint, at)
    select ${randomUUID()} || number, '', 'made/up', now() - make_interval(days => ${days})
    from generate_series(1, ${rows}::int) as number
    returning id
  )
  insert into history (change_id, table_name, owners, keys, after)
  select id, 'tags', '{1}', '[[1]]', '[{"name": "made up"}]' from added
`;

/** The ages in days of the changes made up above that have their rows. */
const recordedDays = async () =>
  (
    await stack.sql<{ days: number }[]>`
      select extract(day from now() - at)::int as days
      from changes join changed_rows on change_id = changes.id
      where endpoint = 'made/up'
      order by at desc
    `
  ).map(({ days }) => days);

describe("ops-tidy and the ledger", () => {
  afterEach(async () => {
    await stack.sql`delete from changes where endpoint = 'made/up'`;
    await stack.sql`delete from history where change_id not in (select id from changes)`;
  });

  it.each([
    [{ days: 31 }, [0, 29, 30]],
    [{}, [0, 29, 30, 31, 399]],
  ])("deletes what is older than so many days, 400 by default, and keeps the rest: %o", async (payload, kept) => {
    for (const days of [0, 29, 30, 31, 399, 401]) await record(days);

    expect(await tidied(payload)).toMatchObject({ changes: 6 - kept.length });

    expect(await recordedDays()).toEqual(kept);
    expect(await stack.sql`select from history where change_id not in (select id from changes)`).toEqual([]);
  });

  it("goes through any number of rows in batches, each once, although its answer is lost", async () => {
    await record(500, 25_000);
    stack.dataApi.intercept(({ number }) => (number === 1 ? { kind: "drop-after" } : undefined));

    expect(await tidied({})).toMatchObject({ changes: 25_000 });

    // Three batches, of which one is sent twice, and the ledger's growth.
    expect(stack.dataApi.calls.map(({ operation }) => operation)).toEqual(Array(5).fill("ExecuteStatement"));
    expect(await recordedDays()).toEqual([]);
  });

  it("may run twice at once", async () => {
    await record(500, 25_000);

    const runs = await Promise.all([tidied({}), tidied({})]);

    expect(runs.reduce((sum, { changes }) => sum + changes, 0)).toBe(25_000);
    expect(await recordedDays()).toEqual([]);
  });

  it("holds no change, nor waits for one, while it deletes", async () => {
    await record(500, 100);
    const add = () =>
      stack.call("admin-roles/add", { as: administrator.token, body: { name: randomUUID(), description: "d" } });
    let tidying: Promise<unknown> = Promise.resolve();

    await stack.sql.begin(async (other) => {
      await other`insert into tags (name) values (${randomUUID()})`;
      await other`select from changes where endpoint = 'made/up' limit 1 for update`;
      tidying = tidied({});
      await expect
        .poll(
          () => stack.sql`
            select from pg_locks join pg_stat_activity using (pid)
            where not granted and datname = current_database()
          `,
        )
        .toHaveLength(1);
      expect((await add()).status).toBe(200);
    });

    expect(await tidying).toMatchObject({ changes: 100 });
  });

  it.each(["error", "error-after"] as const)(
    "breaking off at its second statement (%s) loses nothing, and is finished by the next run",
    async (kind) => {
      await record(500, 25_000);
      await record(1);
      stack.dataApi.intercept(({ number }) =>
        number === 2 ? { kind, status: 400, type: "BadRequestException", message: "Broken" } : undefined,
      );

      expect(await tidy({})).toHaveProperty("error");
      stack.dataApi.intercept(undefined);

      const left = kind === "error" ? 15_000 : 5_000;
      expect(await recordedDays()).toHaveLength(left + 1);
      expect(await tidied({})).toMatchObject({ changes: left });
      expect(await recordedDays()).toEqual([1]);
    },
  );

  it("is itself in the ledger where it did something, and only there", async () => {
    await record(100, 3);
    const entries = () => stack.sql`select answer from changes where endpoint = 'ops/tidy' order by id`;
    const before = await entries();

    await tidied({ days: 50 });
    await tidied({ days: 50 });

    expect((await entries()).slice(before.length)).toEqual([
      { answer: { changes: 3, sessions: 0, tags: 0, releases: 0, isDone: true } },
    ]);
  });

  it("logs how much it grew in the last day, as it is stored", async () => {
    const growth = async () => {
      const log = vi.spyOn(console, "log");
      await tidied({});
      const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)));
      log.mockRestore();
      expect(lines).toMatchObject([{ endpoint: "ops-tidy", ledgerBytesOfLastDay: expect.any(Number) }]);
      return lines[0].ledgerBytesOfLastDay;
    };
    const before = await growth();

    await record(2, 1_000);
    await record(0, 10);
    const small = (await growth()) - before;
    expect(small).toBeGreaterThan(10 * 1_000);
    expect(small).toBeLessThan(10 * 1_300);
    await stack.sql`
      update history
      set before = (select to_json(string_agg(md5(number::text), '')) from generate_series(1, 3_000) as number)
      where change_id in (select id from changes where endpoint = 'made/up' and at > now() - interval '1 day')
    `;
    const grown = (await growth()) - before;
    expect(grown).toBeGreaterThan(10 * 40_000);
    expect(grown).toBeLessThan(10 * 98_000);
  });

  it("keeps keys that a client may still send", async () => {
    const headers = { "Idempotency-Key": randomUUID() };
    const add = () =>
      stack.call("admin-roles/add", { as: administrator.token, body: { name: "Once", description: "d" }, headers });
    expect((await add()).status).toBe(200);
    await stack.sql`update changes set at = now() - interval '23 hours' where endpoint = 'admin-roles/add'`;

    await tidied({ days: 1 });

    expect((await add()).status).toBe(200);
    expect(await stack.sql`select id from roles where name = 'Once'`).toHaveLength(1);
  });
});

describe("ops-tidy", () => {
  it("forgets old imports, attempts to sign in, and e-mail addresses that are not awaited any more", async () => {
    await stack.sql.query(`
      insert into imports (source, moved_at) values ('a', now() - interval '30 days'), ('b', now() - interval '32 days');
      insert into used_attempts (key, digest, used_at)
      values ('a', 'd', now() - interval '23 hours'), ('b', 'd', now() - interval '25 hours');
      insert into awaited_emails (issuer, email, user_id, expires_at)
      values
        ('a', 'ada@example.com', ${administrator.id}, now() + interval '1 hour'),
        ('b', 'ada@example.com', ${administrator.id}, now() - interval '1 second')
    `);

    await tidied({ days: 31 });

    expect(await stack.sql`delete from imports returning source`).toEqual([{ source: "a" }]);
    expect(await stack.sql`delete from used_attempts returning key`).toEqual([{ key: "a" }]);
    expect(await stack.sql`delete from awaited_emails returning issuer`).toEqual([{ issuer: "a" }]);
  });

  it("deletes sessions that ended 30 days ago, in batches, and the others answer as before", async () => {
    await stack.sql`
      insert into refresh_tokens (digest, user_id, expires_at)
      select sha256(number::text::bytea), ${administrator.id}, now() - interval '1 year'
      from generate_series(1, 12000) as number
    `;
    const days = 86_400;
    const tokens = await Promise.all(
      [60, -29 * days, -31 * days, 60, 60].map((seconds) => aSession(stack.sql, administrator.id, seconds)),
    );
    for (const [index, daysAgo] of [
      [3, 29],
      [4, 31],
    ] as const)
      await stack.sql`
        update refresh_tokens
        set revoked_at = now() - make_interval(days => ${daysAgo})
        where digest = sha256(${tokens[index] ?? ""}::bytea)
      `;
    const statuses = () => Promise.all(tokens.map(async (as) => (await stack.call("admin-roles/list", { as })).status));
    expect(await statuses()).toEqual([200, 401, 401, 401, 401]);

    expect(await tidied({})).toMatchObject({ sessions: 12_002 });

    const kept = tokens.map(
      async (token) => (await stack.sql`select from refresh_tokens where digest = sha256(${token}::bytea)`).length,
    );
    expect(await Promise.all(kept)).toEqual([1, 1, 0, 1, 0]);
    expect(await statuses()).toEqual([200, 401, 401, 401, 401]);
  });

  it("deletes cache tags of three days ago in batches, without a row in the ledger", async () => {
    await stack.sql`delete from stale_tags`;
    await stack.sql`
      insert into stale_tags (transaction, tag, added_at)
      select (1000000 + number)::text::xid8, 'series', now() - make_interval(hours => 71 + number % 2 * 2)
      from generate_series(1, 24000) as number
    `;
    const ledger = () => stack.sql`select id from changes`;
    const before = await ledger();

    expect(await tidied({})).toMatchObject({ tags: 12_000 });

    expect(await stack.sql`delete from stale_tags returning tag`).toHaveLength(12_000);
    expect(await ledger()).toEqual(before);
  });
});

describe("ops-tidy and releases", () => {
  let running: string;

  beforeAll(async () => {
    const [release] = await stack.sql<{ schema: string }[]>`select schema from releases`;
    running = release?.schema ?? "";
  });

  afterEach(async () => {
    for (const schema of await releases())
      if (schema !== running) await stack.sql`drop schema ${identifier(schema)} cascade`;
    await stack.sql`delete from releases where schema <> ${running}`;
  });

  /** A release of so many days ago, with a function. */
  async function release(number: number, days: number): Promise<string> {
    const schema = `changes_${number.toString(16).padStart(12, "0")}`;
    await stack.sql`create schema ${identifier(schema)}`;
    await stack.sql.query(`create function ${schema}.nothing() returns integer language sql as 'select 1'`);
    await stack.sql`
      insert into releases (schema, installed_at) values (${schema}, now() - make_interval(days => ${days}))
    `;
    return schema;
  }

  const releases = async () =>
    (await stack.sql<{ schema: string }[]>`select schema from releases order by installed_at desc`).map(
      ({ schema }) => schema,
    );

  const schemas = async () =>
    (
      await stack.sql<{ name: string }[]>`
        select nspname as name from pg_namespace where nspname like 'changes\\_%' order by nspname
      `
    ).map(({ name }) => name);

  it("drops those that are neither among the last ten nor younger than 90 days", async () => {
    const made: string[] = [];
    for (let number = 0; number < 12; number++) made.push(await release(number, 100 + number));

    expect(await tidied({})).toMatchObject({ releases: 3 });

    const kept = [running, ...made.slice(0, 9)];
    expect(await releases()).toEqual(kept);
    expect(await schemas()).toEqual(kept.toSorted());
  });

  it("keeps all of the last 90 days", async () => {
    for (let number = 0; number < 15; number++) await release(number, 75 + number);
    const all = await releases();

    expect(await tidied({})).toMatchObject({ releases: 0 });

    expect(await releases()).toEqual(all);
  });

  it("keeps its own release, however old, and marks it as in use", async () => {
    await stack.sql`update releases set installed_at = now() - interval '3 years'`;
    for (let number = 0; number < 12; number++) await release(number, 1);

    expect(await tidied({})).toMatchObject({ releases: 0 });

    expect((await releases())[0]).toBe(running);
    const added = { as: administrator.token, body: { name: "Still there", description: "d" } };
    expect((await stack.call("admin-roles/add", added)).status).toBe(200);
  });

  it("may run twice at once, and while the release is installed again", async () => {
    for (let number = 0; number < 20; number++) await release(number, 100 + number);

    const [one, other, migration] = await Promise.all([tidied({}), tidied({}), stack.lambda.invoke("ops-migrate", {})]);

    expect(one.releases + other.releases).toBe(11);
    expect(migration).toEqual({ result: { applied: [] } });
    expect(await schemas()).toEqual((await releases()).toSorted());
  });

  it("adds a row to the ledger, and drops nothing when that cannot be written", async () => {
    for (let number = 0; number < 12; number++) await release(number, 100 + number);
    const before = await schemas();
    await stack.sql`alter table changes add constraint closed check (endpoint <> 'ops/tidy') not valid`;

    expect(await tidy({})).toHaveProperty("error");
    await stack.sql`alter table changes drop constraint closed`;

    expect(await schemas()).toEqual(before);
    expect(await tidied({})).toMatchObject({ releases: 3 });
  });
});

describe("ops-tidy", () => {
  it("changes nothing, in two statements, when there is nothing to do", async () => {
    expect(await tidied({})).toEqual({ changes: 0, sessions: 0, tags: 0, releases: 0 });

    expect(stack.dataApi.calls).toHaveLength(2);
  });

  it.each([{ days: 0 }, { days: -1 }, { days: 1.5 }, { days: 3_651 }, { days: "400" }, { days: null }])(
    "fails for %o, and deletes nothing",
    async (payload) => {
      expect(await tidy(payload)).toMatchObject({ error: { errorMessage: expect.stringContaining("days") } });

      expect(stack.dataApi.calls).toEqual([]);
    },
  );
});
