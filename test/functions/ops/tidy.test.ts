import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { untilBlocked } from "../../support/blocked.ts";
import { useAdministrator } from "../../support/callers.ts";
import { identifier, values } from "../../support/database.ts";
import { invoke } from "../../support/invoke.ts";
import { aSession } from "../../support/people.ts";
import { useStack } from "../../support/stack.ts";
import { broken } from "../../support/unchanged.ts";

const stack = useStack();
const administrator = useAdministrator(stack);
const nothing = { changes: 0, sessions: 0, tags: 0, releases: 0 };

beforeEach(async () => {
  await tidied({});
  stack.dataApi.calls.length = 0;
});

const tidied = (payload: object) => invoke<typeof nothing>(stack, "ops-tidy", payload);

const addRole = () =>
  stack.call("admin-roles/add", { as: administrator.token, body: { name: randomUUID(), description: "d" } });

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
const recordedDays = () =>
  values(stack.sql`
    select extract(day from now() - at)::int
    from changes join changed_rows on change_id = changes.id
    where endpoint = 'made/up'
    order by at desc
  `);

describe("ops-tidy and the ledger", () => {
  afterEach(async () => {
    await stack.sql`delete from changes where endpoint = 'made/up'`;
    await stack.sql`delete from history where change_id not in (select id from changes)`;
  });

  it.each([
    { age: "31 days", payload: { days: 31 }, kept: [0, 29, 30] },
    { age: "400 days by default", payload: {}, kept: [0, 29, 30, 31, 399] },
  ])("deletes what is older than $age, and keeps the rest", async ({ payload, kept }) => {
    for (const days of [0, 29, 30, 31, 399, 401]) await record(days);

    expect(await tidied(payload)).toEqual({ ...nothing, changes: 6 - kept.length });

    expect(await recordedDays()).toEqual(kept);
    expect(await stack.sql`select from history where change_id not in (select id from changes)`).toEqual([]);
  });

  it("goes through any number of rows in batches, each once, although its response is lost", async () => {
    await record(500, 25_000);
    stack.dataApi.intercept(({ number }) => (number === 1 ? { kind: "drop-after" } : undefined));

    expect(await tidied({})).toMatchObject({ changes: 25_000 });

    // Three batches, of which one is sent twice, and the ledger's growth.
    expect(stack.dataApi.calls.map(({ operation }) => operation)).toEqual(Array(5).fill("ExecuteStatement"));
    expect(await recordedDays()).toEqual([]);
  });

  it("forgets a change as a whole, also one of more rows than a batch", async () => {
    const [change] = await stack.sql`
      insert into changes (at, endpoint) values (now() - interval '500 days', 'made/up') returning id
    `;
    await stack.sql`
      insert into history (change_id, table_name, owners, keys, after)
      select ${change?.id}, 'tags', array[1::bigint], '[[1]]', '[{"name": "a"}]' from generate_series(1, 12000)
    `;
    stack.dataApi.intercept(({ number }) => (number >= 2 ? broken : undefined));

    await expect(tidied({})).rejects.toThrow();
    stack.dataApi.intercept(undefined);

    expect(await stack.sql`select from history where change_id = ${change?.id}`).toEqual([]);
  });

  it("holds no change, nor waits for one, while it deletes", async () => {
    await record(500, 100);
    let tidying: Promise<unknown> = Promise.resolve();

    await stack.sql.begin(async (other) => {
      await other`insert into tags (name) values (${randomUUID()})`;
      await other`select from changes where endpoint = 'made/up' limit 1 for update`;
      tidying = tidied({});
      await untilBlocked(stack.sql);
      expect((await addRole()).status).toBe(200);
    });

    expect(await tidying).toMatchObject({ changes: 100 });
  });

  it("breaking off at its second statement loses nothing, and is finished by the next run", async () => {
    await record(500, 25_000);
    await record(1);
    // On a busy machine the function may have given the second call up before it failed, and repeat it.
    stack.dataApi.intercept(({ number }) => (number >= 2 ? broken : undefined));

    await expect(tidied({})).rejects.toThrow();
    stack.dataApi.intercept(undefined);

    expect(await recordedDays()).toHaveLength(15_001);
    expect(await tidied({})).toMatchObject({ changes: 15_000 });
    expect(await recordedDays()).toEqual([1]);
  });

  it("logs how much it grew in the last day", async () => {
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

    expect((await growth()) - before).toSatisfy((bytes) => bytes > 10_000 && bytes < 13_000);
  });
});

describe("ops-tidy", () => {
  /** Of each table two rows, of which the second is old, and what is counted. */
  const tables = {
    imports: {
      columns: "(source, moved_at)",
      row: (age) => `('${age}', now() - interval '${30 + age} days')`,
    },
    used_attempts: {
      columns: "(key, digest, used_at)",
      row: (age) => `('${age}', 'd', now() - interval '${23.5 + age} hours')`,
    },
    awaited_emails: {
      columns: "(issuer, email, user_id, expires_at)",
      row: (age) => `('${age}', 'ada@example.com', ${administrator.id}, now() + interval '${1 - age} hours')`,
    },
    stale_tags: {
      columns: "(transaction, tag, added_at)",
      row: (age) => `('1', '${age}', now() - interval '${71.5 + age} hours')`,
    },
  } as const satisfies Record<string, { columns: string; row: (age: number) => string }>;

  it.each(Object.entries(tables))("deletes old rows of %s", async (table, { columns, row }) => {
    const [{ count = 0 } = {}] = await stack.sql`select count(*)::int from ${identifier(table)}`;
    await stack.sql.query(`insert into ${table} ${columns} values ${row(0)}, ${row(1)}`);

    await tidied({ days: 31 });

    expect(await stack.sql`select from ${identifier(table)}`).toHaveLength(count + 1);
  });

  it("deletes sessions and cache tags in batches, and no other session behaves otherwise", async () => {
    const tokens = await Promise.all(
      [60, -29, -31, 61].map((days) => aSession(stack.sql, administrator.id, days * 86_400)),
    );
    await stack.sql`
      update refresh_tokens set revoked_at = now() - interval '31 days' where expires_at > now() + interval '60.5 days'
    `;
    await stack.sql`
      insert into refresh_tokens (digest, user_id, expires_at)
      select sha256(number::text::bytea), ${administrator.id}, now() - interval '1 year'
      from generate_series(1, 12000) as number
    `;
    await stack.sql`
      insert into stale_tags (transaction, tag, added_at)
      select (1000000 + number)::text::xid8, 'series', now() - interval '73 hours' from generate_series(1, 12000) as number
    `;
    const results = () => Promise.all(tokens.map(async (as) => (await stack.call("admin-roles/list", { as })).status));
    expect(await results()).toEqual([200, 401, 401, 401]);

    expect(await tidied({})).toEqual({ ...nothing, sessions: 12_002, tags: 12_000 });

    expect(await results()).toEqual([200, 401, 401, 401]);
  });

  it.each([
    { what: "no day", days: 0 },
    { what: "half a day", days: 1.5 },
    { what: "more than ten years", days: 3_651 },
    { what: "a number as text", days: "400" },
  ])("fails for $what, and deletes nothing", async ({ days }) => {
    await expect(tidied({ days })).rejects.toThrow("days");
    expect(stack.dataApi.calls).toEqual([]);
  });
});

describe("ops-tidy and releases", () => {
  let running: string;

  beforeEach(async () => {
    running = (await releases())[0] ?? "";
    return async () => {
      for (const schema of await releases())
        if (schema !== running) await stack.sql`drop schema ${identifier(schema)} cascade`;
      await stack.sql`delete from releases where schema <> ${running}`;
    };
  });

  /** Releases, each a day older than the one before, with a function. */
  async function release(count: number, days: number): Promise<string[]> {
    const schemas = Array.from({ length: count }, (_, number) => `changes_${number.toString(16).padStart(12, "0")}`);
    for (const [number, schema] of schemas.entries())
      await stack.sql.query(`
        create schema ${schema};
        create function ${schema}.nothing() returns integer language sql as 'select 1';
        insert into releases (schema, installed_at) values ('${schema}', now() - interval '${days + number} days')
      `);
    return schemas;
  }

  const releases = (): Promise<string[]> => values(stack.sql`select schema from releases order by installed_at desc`);
  const schemas = () => values(stack.sql`select nspname from pg_namespace where nspname like 'changes\\_%' order by 1`);

  it.each([
    {
      what: "drops those that are neither among the last ten nor younger than 90 days",
      count: 12,
      days: 100,
      keptCount: 9,
    },
    { what: "keeps all of the last 90 days", count: 15, days: 75, keptCount: 15 },
  ])("$what", async ({ count, days, keptCount }) => {
    const made = await release(count, days);

    expect(await tidied({})).toEqual({ ...nothing, releases: count - keptCount });

    const kept = [running, ...made.slice(0, keptCount)];
    expect(await releases()).toEqual(kept);
    expect(await schemas()).toEqual(kept.toSorted());
  });

  it("keeps its own release, however old, and marks it as in use", async () => {
    await stack.sql`update releases set installed_at = now() - interval '3 years'`;
    await release(12, 1);

    expect(await tidied({})).toEqual(nothing);

    expect((await releases())[0]).toBe(running);
    expect((await addRole()).status).toBe(200);
  });

  it("may run twice at once, and while the release is installed again", async () => {
    await record(500, 25_000);
    await release(20, 100);

    const [one, other, migration] = await Promise.all([tidied({}), tidied({}), stack.lambda.invoke("ops-migrate", {})]);

    expect([one.releases + other.releases, one.changes + other.changes]).toEqual([11, 25_000]);
    expect(migration).toEqual({ result: { applied: [] } });
    expect(await schemas()).toEqual((await releases()).toSorted());
  });

  it("adds a row to the ledger, and drops nothing when that cannot be written", async () => {
    await release(12, 100);
    const before = await schemas();
    await stack.sql`alter table changes add constraint closed check (endpoint <> 'ops/tidy') not valid`;

    await expect(tidied({})).rejects.toThrow();
    await stack.sql`alter table changes drop constraint closed`;

    expect(await schemas()).toEqual(before);
    expect(await tidied({})).toMatchObject({ releases: 3 });
    expect(await tidied({})).toEqual(nothing);
    const entries = await stack.sql`select result from changes where endpoint = 'ops/tidy' order by id desc limit 1`;
    expect(entries).toEqual([{ result: { ...nothing, releases: 3, isDone: true } }]);
  });
});
