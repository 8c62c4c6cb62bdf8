import {
  BeginTransactionCommand,
  CommitTransactionCommand,
  RollbackTransactionCommand,
} from "@aws-sdk/client-rds-data";
import { beforeAll, describe, expect, it } from "vitest";
import { errorOf, useEmulator } from "../test/emulator.ts";

const data = useEmulator();

beforeAll(async () => {
  for (const sql of [
    "create table row (id int)",
    "insert into row values (1)",
    "create function sets() returns int stable language plpgsql as $$ begin perform set_config('a.b', 'c', false); return 1; end $$",
    "create function locks() returns int language plpgsql as $$ begin perform pg_advisory_lock(2); return 1; end $$",
    "create function makes() returns int language plpgsql as $$ begin create temporary table left_behind (); return 1; end $$",
    "create view seen as select sets() as id",
    "create domain checked as int check (sets() + value > 0)",
  ])
    await data.execute(sql);
});

describe("a call", () => {
  const setting = "select coalesce(current_setting('a.b', true), '')";
  const memory = "show work_mem";
  const prepared = "select count(*) from pg_prepared_statements where from_sql";
  const locks = "select count(*) from pg_locks where locktype = 'advisory'";
  const tables = "select count(*) from pg_class where relname = 'left_behind'";

  it.each([
    ["set work_mem = '5MB'", memory, "4MB"],
    ["set role pg_read_all_data", "select current_user = session_user", true],
    ["select set_config('a.b', 'c', false)", setting, ""],
    ["select sets()", setting, ""],
    ["select id from seen", setting, ""],
    ["select 1::checked", setting, ""],
    ["with added as (insert into row values (2) returning id) select sets() from added", setting, ""],
    ["prepare p as select 1", prepared, 0],
    ["do $$ begin execute 'prepare p as select 1'; end $$", prepared, 0],
    ["create temporary table left_behind (id int)", tables, 0],
    ["select makes()", tables, 0],
    ["select pg_advisory_lock(1)", locks, 0],
    ["select locks()", locks, 0],
    ["begin", "select count(*) from pg_stat_activity where state like 'idle in%'", 0],
    ["declare c cursor with hold for select 1", "select count(*) from pg_cursors where is_holdable", 0],
  ])("leaves nothing behind: %s", async (leave, look, expected) => {
    for (let turn = 0; turn < 3; turn += 1) {
      await data.execute(leave);
      // The session is reset while the response is on its way; another one may respond before.
      await expect.poll(() => data.value(look)).toEqual(expected);
    }
  });

  it("runs beside others on a session of its own, at most 20, the rest in turn", async () => {
    const calls = Array.from({ length: 50 }, () => data.value("select pg_backend_pid() from pg_sleep(0.02)"));
    const different = new Set(await Promise.all(calls)).size;

    expect(different).toBeGreaterThan(5);
    expect(different).toBeLessThanOrEqual(20);
  });
});

it("A session that cannot be reset after a transaction is ended", async () => {
  const begin = async () => (await data.client.send(new BeginTransactionCommand(data.target))).transactionId;
  const [transactionId, other] = [await begin(), await begin()];
  for (const sql of [
    "create temporary table left_behind (id int)",
    // So who drops one table waits for locks of the other.
    "alter table row add column temporary left_behind",
    "set statement_timeout = '1s'",
  ])
    await data.execute(sql, { transactionId });
  const pid = await data.value("select pg_backend_pid()", { transactionId });
  const locking = data.execute("lock table row", { transactionId: other });
  await expect.poll(() => data.value("select count(*) from pg_locks where not granted")).toBe(1);

  await data.client.send(new CommitTransactionCommand({ ...data.target, transactionId }));
  await locking;
  const state = `select state from pg_stat_activity where query = 'discard all' and pid = ${pid}`;
  await expect.poll(() => data.value(state)).toBe("idle");
  await data.client.send(new RollbackTransactionCommand({ ...data.target, transactionId: other }));

  const left = () => data.value("select count(*) from pg_class where relname = 'left_behind'");
  // An idle session would end after half a minute anyway.
  await expect.poll(left, { timeout: 15_000 }).toBe(0);
});

describe("a prepared statement", () => {
  const kept = async (text: string) =>
    Number(
      await data.value(`select coalesce(max(generic_plans + custom_plans), 0) from pg_prepared_statements
                             where statement = '${text}'`),
    );

  beforeAll(async () => {
    // The sessions of earlier tests may have prepared the same statements.
    await data.execute(`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'data-api' and pid <> pg_backend_pid()`);
  });

  it("is kept for the next call", async () => {
    const text = "select id from row where id = 1";
    for (let turn = 0; turn < 5; turn += 1) await data.execute(text);

    expect(await kept(text)).toBeGreaterThan(2);
  });

  it.each([
    ["alter table book add title text", [{ longValue: 1 }, { isNull: true }]],
    ["alter table book alter id type text", [{ stringValue: "1" }, { isNull: true }]],
    ["drop table book; create table book as select 2 as id", [{ longValue: 2 }]],
  ])("is prepared anew after: %s", async (changes, expected) => {
    await data.execute("create table if not exists book as select 1 as id");
    const read = () => data.execute("select * from book");
    await read();
    for (const change of changes.split("; ")) await data.execute(change);

    expect((await read()).records).toEqual([expected]);
  });

  it("may be dropped by a call", async () => {
    for (const drop of ["deallocate all", "discard all", "select 1"]) {
      await data.execute("select 7");
      await data.execute(drop);
    }

    expect(await data.value("select 7")).toBe(7);
  });

  it("is never heard of in an error", async () => {
    const parameters = [{ name: "id", value: { longValue: 1 } }];
    const divide = () => data.execute("select 1 / (id - :id) from row", { parameters });
    const errors = new Set();
    for (let turn = 0; turn < 3; turn += 1)
      errors.add(await errorOf(divide())).add(await errorOf(data.execute("select id - :id from row")));

    expect([...errors]).toEqual([
      "DatabaseErrorException 400: ERROR: division by zero; SQLState: 22012",
      'DatabaseErrorException 400: ERROR: bind message supplies 0 parameters, but prepared statement "" requires 1; ' +
        "SQLState: 08P01",
    ]);
  });

  it("makes room for others", async () => {
    for (let number = 0; number < 150; number += 1) await data.execute(`select ${number}`);

    // With those that reset the session, and the latest two, which are closed with the next statement.
    expect(await data.value("select count(*) from pg_prepared_statements")).toBeLessThanOrEqual(110);
  });
});
