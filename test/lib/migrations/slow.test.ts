import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { type DataApi, startDataApi } from "../../../infra/aws-local/test/data-api.ts";
import { defaultName as owner } from "../../../infra/local/database.ts";
import type { migrate as Migrate } from "../../../lib/migrations/migrate.ts";
import { migrations } from "../../../lib/migrations/tables/all.ts";
import { identifier, openDatabase } from "../../support/database.ts";
import { key, useDatabase } from "../../support/environment.ts";

/* A call of this Data API ends after three seconds. An index takes as long as another session locks its table. */

const callSeconds = 3;
let dataApi: DataApi;
/** Applies a migration of the next release. */
let migrate: (next: (typeof migrations)[number], endBy?: number) => ReturnType<typeof Migrate>;
const database = `slow_${process.pid}`;
const admin = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
const sql = openDatabase(`${inject("databaseUrl")}/${database}`);

beforeAll(async () => {
  await admin`create database ${identifier(database)} template blank owner ${identifier(owner)}`;
  dataApi = await startDataApi({
    databaseUrl: inject("ownerUrl"),
    secrets: inject("secrets"),
    key,
    limits: { statementTimeoutInMilliseconds: callSeconds * 1_000 },
  });
  useDatabase(database, dataApi.url);
  vi.resetModules();
  const runner = await import("../../../lib/migrations/migrate.ts");
  migrate = (next, endBy) => runner.migrate([...migrations, next], endBy);
});

afterAll(async () => {
  await dataApi.close();
  await sql.end();
  await admin`drop database ${identifier(database)} with (force)`;
  await admin.end();
});

beforeEach(async () => {
  await sql`set role ${identifier(owner)}`;
  await sql.query(`
    delete from migrations where name = '90-index';
    drop table if exists entries;
    create table entries (id int);
    alter table entries owner to ${owner};
    insert into entries select generate_series(1, 100);
  `);
  dataApi.calls.length = 0;
});

afterEach(() => dataApi.intercept(undefined));

const slow = (kind = "index", limit = "1 hour") => ({
  name: "90-index",
  text: `-- slow: ${limit}\n-- Finds entries.\ncreate ${kind} concurrently if not exists entries_id on entries (id);\n`,
});
const text = slow();

/** Runs something while the index cannot be finished. */
async function withLock<Result>(work: (release: () => void) => Promise<Result>): Promise<Result> {
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const other = sql.begin(async (run) => {
    await run`lock table entries in row exclusive mode`;
    locked.resolve();
    await released.promise;
  });
  await locked.promise;
  try {
    return await work(released.resolve);
  } finally {
    released.resolve();
    await other;
  }
}

const running = (seconds = 0) => sql`
  select from pg_stat_activity
  where
    datname = ${database}
    and state = 'active'
    and query like '%create index%'
    and pid <> pg_backend_pid()
    and clock_timestamp() - query_start > make_interval(secs => ${seconds})
`;
const index = () => sql`
  select indisvalid as valid from pg_class join pg_index on indexrelid = oid where relname = 'entries_id'
`;
const begins = /create (unique )?index/;
const begun = () => dataApi.calls.filter(({ sql: sent = "" }) => begins.test(sent)).length;
const longAgo = () => performance.now() - 1;
/** The call that begins the index breaks off, and the statement runs. */
const breakOff = () =>
  dataApi.intercept(({ sql: sent = "" }) =>
    begins.test(sent) && begun() === 1 ? { kind: "late", until: Promise.resolve(), done: () => {} } : undefined,
  );

describe("A slow migration", () => {
  it("is applied at once if it takes no time", async () => {
    expect(await migrate(text)).toEqual(["90-index"]);

    expect(await index()).toEqual([{ valid: true }]);
    dataApi.calls.length = 0;
    expect(await migrate(text)).toEqual([]);
    expect(begun()).toBe(0);
  });

  it("goes on after its call has timed out, and is watched until it is done by all runs that have time", async () => {
    const outcomes = await withLock(async (release) => {
      const both = Promise.all([migrate(text), migrate(text)]);
      await expect.poll(() => running(callSeconds + 0.5)).toHaveLength(1);
      await expect(migrate(text, longAgo())).rejects.toThrow(
        /^Migration 90-index has been running for 0 minutes; run ops-migrate or the deployment again/,
      );
      expect(begun()).toBe(1);
      release();
      return await both;
    });

    expect(outcomes.flat()).toEqual(["90-index"]);
    expect(await index()).toEqual([{ valid: true }]);
    // It ended unheard, so it was sent again, which had nothing to do.
    expect(begun()).toBe(2);
    expect(await sql`select name from migrations where name like '90%'`).toEqual([{ name: "90-index" }]);
  });

  it("is cancelled after its own time, and begun anew by the next run, without the invalid index", async () => {
    const short = slow("index", "1 second");
    await withLock(async () => {
      await expect(migrate(short)).rejects.toThrow(
        /^Migration 90-index failed: .*(took longer than 1 second and was cancelled|canceling statement)/,
      );
      await expect.poll(() => running()).toEqual([]);
    });
    expect(await index()).toEqual([{ valid: false }]);

    expect(await migrate(short)).toEqual(["90-index"]);

    expect(await index()).toEqual([{ valid: true }]);
  });

  it.each([
    [
      "with its file and line, if its call says so",
      () => {},
      /^Migration 90-index failed: lib\/migrations\/tables\/90-index\.sql:3:1: .*could not create unique index/,
    ],
    [
      "without another run, if its call broke off",
      breakOff,
      "Migration 90-index failed: its statement ended after its call, without success",
    ],
  ])("fails when its statement fails: %s", async (_, fail, message) => {
    await sql`insert into entries values (1)`;
    fail();

    await expect(migrate(slow("unique index"))).rejects.toThrow(message);

    expect(begun()).toBe(1);
    await sql`delete from entries where id = 1`;
    expect(await migrate(slow("unique index"))).toEqual(["90-index"]);
    expect(await index()).toEqual([{ valid: true }]);
  });

  it("is done when nobody hears of its call", async () => {
    breakOff();

    expect(await migrate(text)).toEqual(["90-index"]);

    expect(await index()).toEqual([{ valid: true }]);
    expect(begun()).toBe(2);
  });
});
