import { createServer } from "node:net";
import { BeginTransactionCommand, ExecuteSqlCommand, ExecuteStatementCommand } from "@aws-sdk/client-rds-data";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDataApi } from "../../../../infra/aws-local/data-api/server.ts";
import { key } from "../../../support/environment.ts";
import { clientOf, type Emulator, errorOf, resourceArn, secretArn, startEmulator } from "./emulator.ts";

let data: Emulator;

beforeAll(async () => {
  data = await startEmulator();
  await data.execute("create table shelf (id int primary key, name text not null unique)");
  await data.execute("create table book (shelf int references shelf, price int check (price > 0))");
  await data.execute("insert into shelf values (1, 'a')");
});

afterAll(() => data.stop());

describe("errors of the database", () => {
  it.each([
    [
      "an unknown table",
      "select 1 from no_such_table_xyz",
      'ERROR: relation "no_such_table_xyz" does not exist; Position: 15; SQLState: 42P01',
    ],
    [
      "a position counted in characters",
      "select 'äöü😀', nope",
      'ERROR: column "nope" does not exist; Position: 16; SQLState: 42703',
    ],
    [
      "a missing value, without detail",
      "insert into shelf values (2, null)",
      'ERROR: null value in column "name" of relation "shelf" violates not-null constraint; SQLState: 23502',
    ],
    [
      "a value that is there already, without detail",
      "insert into shelf values (1, 'b')",
      'ERROR: duplicate key value violates unique constraint "shelf_pkey"; SQLState: 23505',
    ],
    [
      "a reference into the void, without detail",
      "insert into book values (9, 1)",
      'ERROR: insert or update on table "book" violates foreign key constraint "book_shelf_fkey"; SQLState: 23503',
    ],
    [
      "a failed check, without detail",
      "insert into book values (1, 0)",
      'ERROR: new row for relation "book" violates check constraint "book_price_check"; SQLState: 23514',
    ],
    [
      "the place in a function",
      "do 'begin perform 1/0; end'",
      'ERROR: division by zero; Where: SQL statement "SELECT 1/0"\nPL/pgSQL function inline_code_block line 1 at PERFORM; SQLState: 22012',
    ],
  ])("name %s", async (_, sql, message) => {
    expect(await errorOf(data.execute(sql))).toBe(`DatabaseErrorException 400: ${message}`);
  });

  it.each(["copy shelf to stdout", "copy shelf from stdin"])("come from %s", async (sql) => {
    expect(await errorOf(data.execute(sql))).toMatch(
      /^DatabaseErrorException 400: execute: unexpected message: Copy(Out|In)Response$/,
    );
  });

  it("leave sessions usable after a refused copy", async () => {
    for (let turn = 0; turn < 25; turn += 1) await errorOf(data.execute("copy shelf from stdin"));

    expect(await data.value("select 1")).toEqual({ longValue: 1 });
  });

  it("name a database that is not there", async () => {
    expect(await errorOf(data.execute("select 1", { database: "nope" }))).toBe(
      'DatabaseErrorException 400: FATAL: database "nope" does not exist; SQLState: 3D000',
    );
  });
});

describe("refused requests", () => {
  it("has no schema parameter", async () => {
    const refused = "ValidationException 400: The schema parameter isn't supported";

    expect(await errorOf(data.execute("select 1", { schema: "public" }))).toBe(refused);
    const begin = new BeginTransactionCommand({ resourceArn, secretArn, schema: "public" });
    expect(await errorOf(data.client.send(begin))).toBe(refused);
  });

  it.each([
    ["resourceArn", { resourceArn: "arn:short" }],
    ["resourceArn", { resourceArn: "a".repeat(571) }],
    ["secretArn", { secretArn: "arn:short" }],
    ["database", { database: "d".repeat(65) }],
    ["transactionId", { transactionId: "t".repeat(193) }],
  ])("checks the length of %s", async (member, extra) => {
    expect(await errorOf(data.execute("select 1", extra))).toMatch(
      new RegExp(`^ValidationException 400: 1 validation error detected: Value at '${member}' failed`),
    );
  });

  it("wants sql, resourceArn and secretArn", async () => {
    const send = (input: object) => data.client.send(new ExecuteStatementCommand(input as never));

    expect(await errorOf(send({ resourceArn, secretArn }))).toMatch("Value null at 'sql' failed");
    expect(await errorOf(send({ resourceArn, sql: "select 1" }))).toMatch("Value null at 'secretArn' failed");
  });

  it("does not know ExecuteSql", async () => {
    const command = new ExecuteSqlCommand({
      dbClusterOrInstanceArn: resourceArn,
      awsSecretStoreArn: secretArn,
      sqlStatements: "select 1",
    });

    expect(await errorOf(data.client.send(command))).toMatch("BadRequestException 400");
  });
});

describe("a secret", () => {
  it("that is not there is an error of its own", async () => {
    expect(await errorOf(data.execute("select 1", { secretArn: `${secretArn}-of-nobody` }))).toBe(
      "SecretsErrorException 400: The secret provided wasn't found.",
    );
  });

  it("decides as whom a statement runs, and nothing changes that", async () => {
    await data.execute("create role reader login password 'read'");
    const arn = `${secretArn}-reader`;
    const secrets = { ...data.api.secrets, [arn]: { username: "reader", password: "read" } };
    const api = await startDataApi({ databaseUrl: data.postgres.url, secrets, key });
    const as = (secret: string, sql: string) =>
      clientOf(api.url).send(
        new ExecuteStatementCommand({ resourceArn, secretArn: secret, sql, database: "postgres" }),
      );

    expect((await as(arn, "select session_user")).records).toEqual([[{ stringValue: "reader" }]]);
    expect((await as(secretArn, "select session_user")).records).toEqual([[{ stringValue: "postgres" }]]);
    for (const sql of ["set role postgres", "set session authorization postgres", "select * from shelf"])
      expect(await errorOf(as(arn, sql))).toMatch(/permission denied.*SQLState: 42501$/);
    await api.close();
  });
});

describe("an unreachable database", () => {
  it("is unavailable while nothing listens", async () => {
    const api = await startDataApi({ databaseUrl: `postgres://u:p@127.0.0.1:${await closedPort()}`, key });
    const client = clientOf(api.url);
    const command = new ExecuteStatementCommand({ resourceArn, secretArn, sql: "select 1" });

    expect(await errorOf(client.send(command))).toBe("DatabaseUnavailableException 504: UnknownError");
    // The real client tries such an answer three times by itself.
    expect(api.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    await api.close();
  });

  it("tells a wrong password", async () => {
    const url = new URL(data.postgres.url);
    url.password = "wrong";
    const api = await startDataApi({ databaseUrl: url.href, key });
    const command = new ExecuteStatementCommand({ resourceArn, secretArn, sql: "select 1" });

    expect(await errorOf(clientOf(api.url).send(command))).toMatch("InvalidSecretException 400");
    await api.close();
  });

  it("has too many connections", async () => {
    await data.execute("create role crowded login connection limit 0 password 'crowded'");
    const url = new URL(data.postgres.url);
    [url.username, url.password] = ["crowded", "crowded"];
    const api = await startDataApi({ databaseUrl: url.href, key });
    const command = new ExecuteStatementCommand({ resourceArn, secretArn, sql: "select 1" });

    expect(await errorOf(clientOf(api.url).send(command))).toBe(
      'DatabaseErrorException 400: FATAL: too many connections for role "crowded"; SQLState: 53300',
    );
    await api.close();
  });

  it.each([
    [
      "a session is ended",
      /^DatabaseErrorException 400: FATAL: .*SQLState: 57P01$/,
      (pid: number) => data.execute(`select pg_terminate_backend(${pid})`),
    ],
    [
      "a session crashes",
      /57P02$|^DatabaseUnavailableException 504/,
      async (pid: number) => process.kill(pid, "SIGQUIT"),
    ],
  ])("is told when %s under a statement, and works again afterwards", async (_, expected, end) => {
    const command = new ExecuteStatementCommand({ resourceArn, secretArn, sql: "select pg_sleep(10)::text" });
    const sleeping = errorOf(clientOf(data.api.url, 1).send(command));
    const find =
      "select pid::int from pg_stat_activity where query like 'select pg_sleep%' and pid <> pg_backend_pid()";
    const pid = async () => Number((await data.value(find))?.longValue);
    await expect.poll(pid).toBeGreaterThan(0);

    await end(await pid());

    expect(await sleeping).toMatch(expected);
    // All sessions end with one that crashes, and none begins for a moment.
    await expect.poll(() => errorOf(data.execute("select 1"))).toBe("no error");
  });

  it("is unavailable, and never fails in another way, while it stops, stands still and starts", async () => {
    const heard = new Set<string>();
    let isOver = false;
    const asking = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (!isOver) heard.add(await errorOf(data.execute("select 1, pg_sleep(0.01)::text")));
      }),
    );
    await data.restart();
    await expect.poll(() => errorOf(data.execute("select 1"))).toBe("no error");
    isOver = true;
    await asking;

    const expected = /^(no error|DatabaseUnavailableException 504: .*|DatabaseErrorException 400: .*57P0[123])$/;
    expect([...heard].filter((each) => !expected.test(each))).toEqual([]);
    expect(heard).toContain("DatabaseUnavailableException 504: UnknownError");
  });
});

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}
