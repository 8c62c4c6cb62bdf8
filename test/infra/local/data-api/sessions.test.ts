import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Emulator, refusal, startEmulator } from "./emulator.ts";

let data: Emulator;

beforeAll(async () => {
  data = await startEmulator();
});

afterAll(() => data.stop());

describe("calls outside of transactions", () => {
  it.each([
    ["settings", "set work_mem = '5MB'", "show work_mem", "4MB"],
    [
      "settings by function",
      "select set_config('a.b', 'c', false)",
      "select coalesce(current_setting('a.b', true), '')",
      "",
    ],
    ["prepared statements", "prepare p as select 1", "select count(*)::text from pg_prepared_statements", "0"],
    [
      "temporary tables",
      "create temporary table t (id int)",
      "select count(*)::text from pg_class where relname = 't'",
      "0",
    ],
    [
      "advisory locks",
      "select pg_advisory_lock(1)::text",
      "select count(*)::text from pg_locks where locktype = 'advisory'",
      "0",
    ],
    ["open transactions", "begin", "select count(*)::text from pg_stat_activity where state like 'idle in%'", "0"],
  ])("leave no %s behind", async (_, leave, look, expected) => {
    await data.execute(leave);

    // The session is reset once the answer is out.
    await expect.poll(() => data.value(look)).toEqual({ stringValue: expected });
  });

  it("run side by side on sessions of their own, at most 20, the rest in turn", async () => {
    const sessions = await Promise.all(
      Array.from({ length: 50 }, () => data.value("select pg_backend_pid() from pg_sleep(0.02)")),
    );
    const different = new Set(sessions.map((field) => field?.longValue)).size;

    expect(different).toBeGreaterThan(5);
    expect(different).toBeLessThanOrEqual(20);
  });

  it("do not wait for transactions, however many are open", async () => {
    const ids = await Promise.all(Array.from({ length: 25 }, () => data.begin()));

    expect(await data.value("select 1")).toEqual({ longValue: 1 });
    await Promise.all(ids.map((id) => data.rollback(id)));
  });

  it("plan with the values at hand, every time", async () => {
    await data.execute(
      "create table skewed as select case when i = 1 then 'rare' else 'common' end as kind from generate_series(1, 20000) i",
    );
    await data.execute("create index on skewed (kind)");
    await data.execute("analyze skewed");
    const plan = async (kind: string) =>
      JSON.stringify(
        await data.column("explain select * from skewed where kind = :kind", {
          parameters: [{ name: "kind", value: { stringValue: kind } }],
        }),
      );
    for (let turn = 0; turn < 8; turn += 1) await plan("common");

    expect(await plan("common")).toMatch("Seq Scan");
    expect(await plan("rare")).toMatch("Index");
  });
});

describe("databases", () => {
  it("are told apart by the request", async () => {
    await data.execute("create database other");
    await data.execute("create table only_here (id int)", { database: "other" });

    expect(await refusal(data.execute("select 1 from only_here"))).toMatch("42P01");
    expect(await data.column("select 1 from only_here", { database: "other" })).toEqual([]);
  });

  it("can be dropped after their sessions were closed", async () => {
    await data.execute("create database passing");
    await data.execute("select 1", { database: "passing" });

    await data.api.closeDatabase("passing");

    // PostgreSQL would wait for 5 s and then refuse.
    const sessions = "select count(*) from pg_stat_activity where datname = 'passing'";
    await expect.poll(() => data.value(sessions)).toEqual({ longValue: 0 });
    expect(await refusal(data.execute("drop database passing"))).toBe("no refusal");
  });
});
