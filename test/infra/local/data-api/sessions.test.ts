import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serviceLimits } from "../../../../infra/aws-local/data-api/limits.ts";
import { prepareStatements } from "../../../../infra/aws-local/data-api/prepared.ts";
import { type Emulator, errorOf, parameter, startEmulator } from "./emulator.ts";

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

describe("what functions leave behind", () => {
  const settings = "select coalesce(current_setting('a.b', true), '')";
  const locks = "select count(*)::text from pg_locks where locktype = 'advisory'";
  const tables = "select count(*)::text from pg_class where relname = 'left_behind'";
  const prepared = "select count(*)::text from pg_prepared_statements where from_sql";

  beforeAll(async () => {
    for (const statement of [
      "create function sets() returns int stable language plpgsql as $$ begin perform set_config('a.b', 'c', false); return 1; end $$",
      "create function sets_by_text() returns int stable language plpgsql as $$ begin execute 'select set_config(''a.b'', ''c'', false)'; return 1; end $$",
      "create function locks() returns int language plpgsql as $$ begin perform pg_advisory_lock(2); return 1; end $$",
      "create function makes() returns int language plpgsql as $$ begin create temporary table left_behind (); return 1; end $$",
      "create function prepares() returns int language plpgsql as $$ begin execute 'prepare p as select 1'; return 1; end $$",
      "create function sets_in_sql() returns text stable language sql return set_config('a.b', 'c', false)",
      "create function sets_by_another() returns text stable language sql as 'select sets()::text'",
      'create function "Sets It"() returns int language plpgsql as $$ begin return sets(); end $$',
      "create table rows (id int)",
      "insert into rows values (1)",
      "create function by_row(rows) returns int language plpgsql as $$ begin return sets(); end $$",
      "create view seen as select sets() as id",
    ])
      await data.execute(statement);
  });

  it.each([
    ["select sets()", settings, ""],
    ["select sets_by_text()", settings, ""],
    ["select locks()", locks, "0"],
    ["select makes()", tables, "0"],
    ["select prepares()", prepared, "0"],
    ["select sets_in_sql()", settings, ""],
    ["select sets_by_another()", settings, ""],
    ['select "Sets It"()', settings, ""],
    ['select U&"\\0073ets"()', settings, ""],
    ["select sets /* ( */ ()", settings, ""],
    ["(select 1) union all (select sets())", settings, ""],
    ["select rows.by_row from rows", settings, ""],
    ["select id from seen", settings, ""],
    ["with added as (insert into rows values (2) returning id) select sets() from added", settings, ""],
    ["select pg_catalog.set_config('a.b', 'c', false)", settings, ""],
  ])("is gone: %s", async (leave, look, expected) => {
    for (let turn = 0; turn < 4; turn += 1) {
      await data.execute(leave);
      await expect.poll(() => data.value(look)).toEqual({ stringValue: expected });
    }
  });

  it("is gone when the function has changed meanwhile", async () => {
    await data.execute("create function turns() returns int stable language sql return 1");
    for (let turn = 0; turn < 3; turn += 1) await data.execute("select turns()");
    await data.execute(
      "create or replace function turns() returns int stable language plpgsql as $$ begin return sets(); end $$",
    );

    await data.execute("select turns()");

    await expect.poll(() => data.value(settings)).toEqual({ stringValue: "" });
  });

  it.each([
    ["an operator", "create operator <<>> (function = leaves, leftarg = int, rightarg = int)", "select 1 <<>> 2"],
    ["a cast", "create cast (int as rows) with function as_row", "select (1::rows).id"],
    ["a domain", "create domain checked as int check (leaves(value, 1) > 0)", "select 1::checked"],
  ])("is gone when nothing names it but %s", async (_, make, leave) => {
    await data.execute("create database unnamed");
    const extra = { database: "unnamed" };
    const body = "language plpgsql as $$ begin perform set_config('a.b', 'c', false); return";
    for (const statement of [
      "create table rows (id int)",
      `create function leaves(int, int) returns int ${body} 1; end $$`,
      `create function as_row(int) returns rows ${body} row($1); end $$`,
      make,
    ])
      await data.execute(statement, extra);

    for (let turn = 0; turn < 4; turn += 1) {
      await data.execute(leave, extra);
      await expect.poll(() => data.value(settings, extra)).toEqual({ stringValue: "" });
    }
    await data.api.closeDatabase("unnamed");
    await data.execute("drop database unnamed with (force)");
  });
});

describe("a statement that only reads", () => {
  const kept = "select count(*)::int from pg_prepared_statements";

  const read = async (sql: string, times = 3) => {
    for (let turn = 0; turn < times; turn += 1) {
      await data.execute(sql);
      await sleep(10);
    }
  };

  beforeAll(async () => {
    await data.api.closeDatabase("postgres");
    await data.execute("create table read (id int, name text)");
    await data.execute("insert into read values (1, 'one')");
  });

  it("is prepared once, and survives what others change of their session", async () => {
    await read("select name from read where id = 1");
    expect(await data.value(kept)).toEqual({ longValue: 1 });

    await data.execute("prepare another as select 1");
    await read("select name from read where id = 1");

    expect(await data.value(kept)).toEqual({ longValue: 1 });
  });

  it("is prepared anew when the schema has changed under it", async () => {
    await read("select * from read");
    await data.execute("alter table read alter id type text");
    expect(await data.value("select * from read")).toEqual({ stringValue: "1" });

    await read("select * from read");
    await data.execute("drop table read");
    expect(await errorOf(data.execute("select * from read"))).toMatch("SQLState: 42P01");

    await data.execute("create table read as select 2::bigint as id, 'two' as name");
    expect(await data.value("select * from read")).toEqual({ longValue: 2 });
  });

  it("fails as it would unprepared", async () => {
    const parameters = [parameter("id", { longValue: 2 })];
    const divide = () => data.execute("select 1 / (id - :id) from read", { parameters });
    const unbound = () => data.execute("select id - :id from read");
    const [division, binding] = [await errorOf(divide()), await errorOf(unbound())];
    await sleep(20);

    for (let turn = 0; turn < 3; turn += 1) {
      expect(await errorOf(divide())).toBe(division);
      expect(await errorOf(unbound())).toBe(binding);
      await sleep(10);
    }
    expect(binding).toContain('prepared statement ""');
  });

  it("makes room for others", async () => {
    const client = new Client({ connectionString: `${data.postgres.url}/postgres` });
    await client.connect();
    const statements = prepareStatements();
    for (let number = 0; number < 250; number += 1)
      await statements.run(client, { text: `select ${number}`, types: [], values: [] }, serviceLimits);

    expect((await client.query(kept)).rows).toEqual([{ count: 200 }]);
    await client.end();
  });
});

describe("databases", () => {
  it("are told apart by the request", async () => {
    await data.execute("create database other");
    await data.execute("create table only_here (id int)", { database: "other" });

    expect(await errorOf(data.execute("select 1 from only_here"))).toMatch("42P01");
    expect(await data.column("select 1 from only_here", { database: "other" })).toEqual([]);
  });

  it("can be dropped after their sessions were closed", async () => {
    await data.execute("create database passing");
    await data.execute("select 1", { database: "passing" });

    await data.api.closeDatabase("passing");

    // PostgreSQL would wait for 5 s and then refuse.
    const sessions = "select count(*) from pg_stat_activity where datname = 'passing'";
    await expect.poll(() => data.value(sessions)).toEqual({ longValue: 0 });
    expect(await errorOf(data.execute("drop database passing"))).toBe("no error");
  });
});
