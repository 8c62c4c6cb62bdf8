import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Emulator, errorOf, parameter, startEmulator } from "./emulator.ts";

let data: Emulator;

beforeAll(async () => {
  data = await startEmulator();
  await data.execute("create table note (text text primary key)");
});

afterAll(() => data.stop());

const count = async (text: string) => (await data.value(`select count(*) from note where text = '${text}'`))?.longValue;

const openTransactions = () =>
  data.value("select count(*) from pg_stat_activity where xact_start is not null and pid <> pg_backend_pid()");

describe("transactions", () => {
  it("keep what they wrote to themselves until the commit", async () => {
    const transactionId = await data.begin();
    await data.execute("insert into note values ('kept')", { transactionId });
    const before = await count("kept");
    const { transactionStatus } = await data.commit(transactionId);

    expect([before, transactionStatus, await count("kept")]).toEqual([0, "Transaction Committed", 1]);
  });

  it("leave nothing after a rollback, tables included", async () => {
    const transactionId = await data.begin();
    await data.execute("create table passing (id int)", { transactionId });
    const { transactionStatus } = await data.rollback(transactionId);

    expect(transactionStatus).toBe("Rollback Complete");
    expect(await errorOf(data.execute("select 1 from passing"))).toMatch("42P01");
  });

  it("have an id of at most 192 characters", async () => {
    const transactionId = await data.begin();
    await data.rollback(transactionId);

    expect(transactionId).toMatch(/^[\w+/=]{100,192}$/);
  });

  it.each(["commit", "rollback"] as const)("are not found after a %s", async (end) => {
    const transactionId = await data.begin();
    await data[end](transactionId);
    const notFound = `TransactionNotFoundException 404: Transaction ${transactionId} is not found`;

    expect(await errorOf(data.execute("select 1", { transactionId }))).toBe(notFound);
    expect(await errorOf(data.commit(transactionId))).toBe(notFound);
    expect(await errorOf(data.rollback(transactionId))).toBe(notFound);
  });

  it("refuse a call while another one runs", async () => {
    const [holder, transactionId] = [await data.begin(), await data.begin()];
    const lock = "select pg_advisory_xact_lock(1)::text";
    await data.execute(lock, { transactionId: holder });
    const slow = data.execute(lock, { transactionId });
    await expect.poll(() => data.value("select count(*) from pg_locks where not granted")).toEqual({ longValue: 1 });
    const busy = "DatabaseErrorException 400: Transaction is still running a query";

    expect(await errorOf(data.execute("select 1", { transactionId }))).toBe(busy);
    expect(await errorOf(data.commit(transactionId))).toBe(busy);
    await data.rollback(holder);
    await slow;
    await data.rollback(transactionId);
  });

  it("are aborted by an error, and rolled back by a commit", async () => {
    const transactionId = await data.begin();
    await data.execute("insert into note values ('lost')", { transactionId });
    await errorOf(data.execute("select 1/0", { transactionId }));
    const aborted =
      "DatabaseErrorException 400: ERROR: current transaction is aborted, commands ignored until end of transaction block; SQLState: 25P02";

    expect(await errorOf(data.execute("select 1", { transactionId }))).toBe(aborted);
    expect(await errorOf(data.commit(transactionId))).toBe("no error");
    expect(await count("lost")).toBe(0);
  });

  it("take savepoints", async () => {
    const transactionId = await data.begin();
    await data.execute("savepoint here", { transactionId });
    await errorOf(data.execute("select 1/0", { transactionId }));
    await data.execute("rollback to here", { transactionId });
    await data.execute("release here", { transactionId });
    await data.execute("insert into note values ('saved')", { transactionId });
    await data.commit(transactionId);

    expect(await count("saved")).toBe(1);
  });

  it("take cursors, settings, temporary tables and prepared statements", async () => {
    const transactionId = await data.begin();
    for (const sql of [
      "declare numbers cursor for select * from generate_series(1, 5)",
      "set local work_mem = '5MB'",
      "create temporary table scratch as select 7 as n",
      "prepare p as select 8",
    ])
      await data.execute(sql, { transactionId });
    const columns = [];
    for (const sql of ["fetch 2 from numbers", "show work_mem", "select n from scratch", "execute p"])
      columns.push(await data.column(sql, { transactionId }));
    await data.rollback(transactionId);

    expect(columns).toEqual([
      [{ longValue: 1 }, { longValue: 2 }],
      [{ stringValue: "5MB" }],
      [{ longValue: 7 }],
      [{ longValue: 8 }],
    ]);
  });

  it("report a serialization failure at the commit", async () => {
    const ids = [await data.begin(), await data.begin()];
    for (const transactionId of ids) {
      await data.execute("set transaction isolation level serializable", { transactionId });
      await data.execute("select count(*) from note", { transactionId });
    }
    for (const transactionId of ids)
      await data.execute(`insert into note values ('${transactionId.slice(0, 8)}')`, { transactionId });
    const [first = "", second = ""] = ids;
    await data.commit(first);

    expect(await errorOf(data.commit(second))).toMatch(
      /^DatabaseErrorException 400: ERROR: could not serialize access.*Hint: The transaction might succeed if retried.; SQLState: 40001$/,
    );
  });

  it("are rolled back when nobody uses them for too long", async () => {
    const client = await data.limited({ transactionIdleInMilliseconds: 400 });
    const transactionId = await client.begin();
    await sleep(500);

    expect(await errorOf(client.commit(transactionId))).toMatch("is not found");
    await expect.poll(openTransactions).toEqual({ longValue: 0 });
  });

  it("are rolled back when they last too long, though used", async () => {
    const client = await data.limited({ transactionMaxInMilliseconds: 900 });
    const transactionId = await client.begin();

    await expect
      .poll(() => errorOf(client.execute("select 1", { transactionId })), { interval: 100 })
      .toMatch("is not found");
    await expect.poll(openTransactions).toEqual({ longValue: 0 });
  });

  it("end with the session that carries them", async () => {
    const transactionId = await data.begin();
    const pid = await data.value("select pg_backend_pid()", { transactionId });
    await data.execute("select pg_terminate_backend(:pid::int)", {
      parameters: [parameter("pid", { longValue: pid?.longValue ?? 0 })],
    });

    await expect.poll(() => errorOf(data.execute("select 1", { transactionId }))).toMatch("is not found");
  });
});

describe("the statement timeout", () => {
  it("cancels the statement", async () => {
    const client = await data.limited({ statementTimeoutInMilliseconds: 600 });
    const late = await client.execute("select pg_sleep(50)::text").catch((error) => error);

    expect([late.name, late.$metadata.httpStatusCode]).toEqual(["StatementTimeoutException", 400]);
    expect(late.dbConnectionId).toBeGreaterThan(0);
    const running =
      "select count(*) from pg_stat_activity where query like '%pg_sleep(50)%' and state = 'active' and pid <> pg_backend_pid()";
    await expect.poll(() => data.value(running)).toEqual({ longValue: 0 });
  });

  it("leaves the statement running with continueAfterTimeout", async () => {
    const client = await data.limited({ statementTimeoutInMilliseconds: 600 });
    const transactionId = await data.begin();
    await data.execute("lock table note in exclusive mode", { transactionId });
    const sql = "insert into note values ('late')";

    expect(await errorOf(client.execute(sql, { continueAfterTimeout: true }))).toMatch("StatementTimeoutException 400");
    expect(await count("late")).toBe(0);
    await data.rollback(transactionId);
    await expect.poll(() => count("late")).toBe(1);
  });
});

describe("batches", () => {
  it("run the statement for every set, and answer no generated fields", async () => {
    const sets = ["x", "y", "z"].map((text) => [parameter("text", { stringValue: text })]);
    const { updateResults } = await data.batch("insert into note values (:text)", sets);

    expect(updateResults).toEqual(Array(3).fill({ generatedFields: [] }));
    expect(await count("z")).toBe(1);
  });

  it("write nothing when one set fails", async () => {
    const sets = ["b1", "b2", "b1"].map((text) => [parameter("text", { stringValue: text })]);

    expect(await errorOf(data.batch("insert into note values (:text)", sets))).toMatch(/SQLState: 23505$/);
    expect(await count("b2")).toBe(0);
  });

  it("belong to the transaction they name", async () => {
    const transactionId = await data.begin();
    await data.batch("insert into note values (:text)", [[parameter("text", { stringValue: "mine" })]], transactionId);
    await data.rollback(transactionId);

    expect(await count("mine")).toBe(0);
  });

  it("refuse a second statement", async () => {
    expect(await errorOf(data.batch("select 1; select 2", [[]]))).toMatch("Multistatements aren't supported.");
  });
});
