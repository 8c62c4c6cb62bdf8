import { beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../http/free-port.ts";
import { type Key, newKey, signRequest } from "../http/signature.ts";
import { startDataApi } from "../test/data-api.ts";
import { clientOf, errorOf, key, useEmulator } from "../test/emulator.ts";
import type { DataApiOptions } from "./server.ts";

const data = useEmulator();

beforeAll(async () => {
  for (const sql of ["create table hidden (id int)", "create table row (id int)", "insert into row values (1)"])
    await data.execute(sql);
});

interface Sent {
  readonly body: unknown;
  readonly path?: string;
  readonly service?: "rds-data" | "secretsmanager" | "s3";
  readonly signedBy?: Key;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a signed request; `headers` are not signed. */
async function post({ body, path = "/Execute", service = "rds-data", signedBy = key, headers }: Sent) {
  const url = new URL(data.api.url + path);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const signed = await signRequest(service, signedBy, url, "POST", Buffer.from(text));
  return await fetch(url, { method: "POST", body: text, headers: { ...signed, ...headers } });
}

const errorTypeOf = async (sent: Sent) => {
  const { status, headers } = await post(sent);
  return `${status} ${headers.get("x-amzn-errortype")}`;
};

/** Statements through another Data API before the same PostgreSQL. */
async function through(options: Partial<DataApiOptions>, ...statements: string[]) {
  const api = await startDataApi({ databaseUrl: data.postgres.url, key, ...options });
  const client = clientOf(api.url);
  const { database, resourceArn } = data.target;
  const [secretArn] = Object.keys(options.secrets ?? { [data.target.secretArn]: {} });
  const responses: string[] = [];
  for (const sql of statements)
    responses.push(await errorOf(client.executeStatement({ resourceArn, secretArn, database, sql })));
  await api.close();
  return responses;
}

const begin = async () => (await data.client.beginTransaction(data.target)).transactionId ?? "";

describe("the wire", () => {
  const unimplemented = "501 NotImplementedException";

  it("returns an error with its name in header and body", async () => {
    const response = await post({ body: { ...data.target, sql: "select 1/0" } });

    const type = "DatabaseErrorException";
    const message = "ERROR: division by zero; SQLState: 22012";
    expect([response.status, response.headers.get("x-amzn-errortype")]).toEqual([400, type]);
    expect(response.headers.get("x-amzn-requestid")).toMatch(/^[\w-]{36}$/);
    expect(await response.json()).toEqual({ __type: type, code: type, message });
  });

  it.each([
    { what: "no JSON", body: "{" },
    { what: "no object", body: "[]" },
    { what: "a statement that is no text", body: { sql: 1 } },
    { what: "a value of two members", body: { parameters: [{ name: "a", value: { longValue: 1, stringValue: "" } }] } },
    { what: "a long with a fraction", body: { parameters: [{ name: "a", value: { longValue: 1.5 } }] } },
    // What only database drivers use.
    { what: "metadata", body: { includeResultMetadata: true }, error: unimplemented },
    { what: "formats", body: { formatRecordsAs: "JSON" }, error: unimplemented },
    { what: "options", body: { resultSetOptions: { longReturnType: "STRING" } }, error: unimplemented },
    {
      what: "hints",
      body: { parameters: [{ name: "a", value: { longValue: 1 }, typeHint: "DECIMAL" }] },
      error: unimplemented,
    },
    { what: "other values", body: { parameters: [{ name: "a", value: { constructor: 1 } }] }, error: unimplemented },
  ])("refuses $what", async ({ body, error = "400 SerializationException" }) => {
    const whole = typeof body === "string" ? body : { ...data.target, sql: "select 1", ...body };

    expect(await errorTypeOf({ body: whole })).toBe(error);
  });

  it.each(["/Other", "/ExecuteSql"])("knows the paths of its operations alone: %s", async (path) => {
    expect((await post({ path, body: {} })).status).toBe(404);
  });
});

describe("who may call", () => {
  const body = () => ({ ...data.target, sql: "insert into hidden values (1)" });
  const reading = () => ({ service: "secretsmanager" as const, path: "/", body: { SecretId: data.target.secretArn } });
  const getsSecret = { "x-amz-target": "secretsmanager.GetSecretValue" };

  it.each<{ what: string; wrong: Partial<Sent>; type: string }>([
    { what: "an earlier key", wrong: { signedBy: newKey() }, type: "UnrecognizedClientException" },
    {
      what: "another secret",
      wrong: { signedBy: { ...newKey(), accessKeyId: key.accessKeyId } },
      type: "InvalidSignatureException",
    },
    { what: "no signature", wrong: { headers: { authorization: "Bearer token" } }, type: "InvalidSignatureException" },
    {
      what: "a page's origin",
      wrong: { headers: { origin: "https://evil.example.com" } },
      type: "AccessDeniedException",
    },
    { what: "a page without one", wrong: { headers: { origin: "null" } }, type: "AccessDeniedException" },
    { what: "another service's signature", wrong: { service: "s3" }, type: "InvalidSignatureException" },
  ])("is nobody with $what, here or at Secrets Manager", async ({ wrong, type }) => {
    const secret = await post({ ...reading(), ...wrong, headers: { ...getsSecret, ...wrong.headers } });

    expect(await errorTypeOf({ body: body(), ...wrong })).toBe(`403 ${type}`);
    expect([secret.status, secret.headers.get("x-amzn-errortype")]).toEqual([403, type]);
    expect(await data.value("select count(*) from hidden")).toBe(0);
  });

  it("is whoever signs by the key of its start", async () => {
    const secret = await post({ ...reading(), headers: getsSecret });

    expect((await post({ body: body() })).status).toBe(200);
    const { username, password } = new URL(data.postgres.url);
    expect(JSON.parse(JSON.parse(await secret.text()).SecretString)).toEqual({ username, password });
  });
});

describe("the Data API", () => {
  it("runs a statement as the user of its secret, and nothing changes that", async () => {
    await data.execute("create role reader login password 'read'");
    const secrets = { [`${data.target.secretArn}-reader`]: { username: "reader", password: "read" } };

    const forbidden = ["set role postgres", "set session authorization postgres", "select * from hidden"];
    const [first, ...others] = await through({ secrets }, "select 1 / (session_user = 'reader')::int", ...forbidden);

    expect(first).toBe("no error");
    for (const each of others) expect(each).toMatch(/permission denied.*SQLState: 42501$/);
  });

  it("has no secret but its own", async () => {
    expect(await errorOf(data.execute("select 1", { secretArn: `${data.target.secretArn}-of-nobody` }))).toBe(
      "SecretsErrorException 400: The secret provided wasn't found.",
    );
  });

  it("has sessions after refused copies", async () => {
    for (let turn = 0; turn < 25; turn += 1) await errorOf(data.execute("copy pg_class from stdin"));

    expect(await data.value("select 1")).toBe(1);
  });
});

describe("a transaction", () => {
  it("does not wait for others, however many are open", async () => {
    const ids = await Promise.all(Array.from({ length: 25 }, () => begin()));

    expect(await data.value("select 1")).toBe(1);
    for (const transactionId of ids) await data.execute("commit", { transactionId });
  });

  it("ends with its session", async () => {
    const transactionId = await begin();
    const pid = await data.value("select pg_backend_pid()", { transactionId });
    await data.execute(`select pg_terminate_backend(${pid})`);

    await expect.poll(() => errorOf(data.execute("select 1", { transactionId }))).toMatch("is not found");
  });
});

describe("a database that cannot be reached", () => {
  it.each([
    {
      what: "nothing listens",
      error: "DatabaseUnavailableException 504: UnknownError",
      hostOf: async () => `127.0.0.1:${await freePort()}`,
    },
    {
      what: "the password is wrong",
      error: "InvalidSecretException 400",
      hostOf: async () => new URL(data.postgres.url).host,
    },
  ])("is told when $what", async ({ error, hostOf }) => {
    const [response] = await through({ databaseUrl: `postgres://postgres:wrong@${await hostOf()}` }, "select 1");

    expect(response).toMatch(error);
  });

  it("is told when a session is ended under a statement, and works again afterwards", async () => {
    const impatient = clientOf(data.api.url, 1);
    const sleeping = errorOf(impatient.executeStatement({ ...data.target, sql: "select pg_sleep(10)" }));
    const end = `select count(pg_terminate_backend(pid)) from pg_stat_activity
      where query = 'select pg_sleep(10)' and state = 'active'`;
    await expect.poll(() => data.value(end)).toBe(1);

    expect(await sleeping).toMatch(/^DatabaseErrorException 400: FATAL: .*SQLState: 57P01$/);
    expect(await data.value("select 1")).toBe(1);
  });
});

describe("a call", () => {
  const setting = "select coalesce(current_setting('a.b', true), '')";
  const memory = "show work_mem";
  const prepared = "select count(*) from pg_prepared_statements where from_sql";
  const locks = "select count(*) from pg_locks where locktype = 'advisory'";
  const tables = "select count(*) from pg_class where relname = 'left_behind'";

  it.each([
    { leave: "set work_mem = '5MB'", look: memory, expected: "4MB" },
    { leave: "set role pg_read_all_data", look: "select current_user = session_user", expected: true },
    { leave: "select set_config('a.b', 'c', false)", look: setting, expected: "" },
    { leave: "prepare p as select 1", look: prepared, expected: 0 },
    { leave: "do $$ begin execute 'prepare p as select 1'; end $$", look: prepared, expected: 0 },
    { leave: "create temporary table left_behind (id int)", look: tables, expected: 0 },
    { leave: "select pg_advisory_lock(1)", look: locks, expected: 0 },
    { leave: "begin", look: "select count(*) from pg_stat_activity where state like 'idle in%'", expected: 0 },
    {
      leave: "declare c cursor with hold for select 1",
      look: "select count(*) from pg_cursors where is_holdable",
      expected: 0,
    },
  ])("leaves nothing behind: $leave", async ({ leave, look, expected }) => {
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
  const transactionId = await begin();
  for (const sql of [
    "do $$ begin for n in 1..500 loop execute 'create temporary table left_behind_' || n || ' ()'; end loop; end $$",
    // Too short to drop them all.
    "set statement_timeout = '1ms'",
  ])
    await data.execute(sql, { transactionId });

  await data.client.commitTransaction({ ...data.target, transactionId });

  const left = () => data.value("select count(*) from pg_class where relname like 'left_behind_%'");
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
    { changes: "alter table book add title text", expected: [{ longValue: 1 }, { isNull: true }] },
    { changes: "alter table book alter id type text", expected: [{ stringValue: "1" }, { isNull: true }] },
    { changes: "drop table book; create table book as select 2 as id", expected: [{ longValue: 2 }] },
  ])("is prepared anew after: $changes", async ({ changes, expected }) => {
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
