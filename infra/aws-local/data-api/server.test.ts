import { BeginTransactionCommand, ExecuteStatementCommand } from "@aws-sdk/client-rds-data";
import { beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../http/free-port.ts";
import { type Key, newKey, signRequest } from "../http/signature.ts";
import { startDataApi } from "../test/data-api.ts";
import { clientOf, errorOf, key, useEmulator } from "../test/emulator.ts";
import type { DataApiOptions } from "./server.ts";

const data = useEmulator();

beforeAll(() => data.execute("create table hidden (id int)"));

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
  const responses = [];
  for (const sql of statements)
    responses.push(await errorOf(client.send(new ExecuteStatementCommand({ resourceArn, secretArn, database, sql }))));
  await api.close();
  return { responses, calls: api.calls };
}

/** The URL of the server for another user. */
function urlFor(username: string, password: string) {
  const url = new URL(data.postgres.url);
  [url.username, url.password] = [username, password];
  return url.href;
}

const begin = async () => (await data.client.send(new BeginTransactionCommand(data.target))).transactionId ?? "";

describe("the wire", () => {
  it("returns an error with its name in header and body", async () => {
    const response = await post({ body: { ...data.target, sql: "select 1/0" } });

    expect([response.status, response.headers.get("content-type")]).toEqual([400, "application/json"]);
    expect(response.headers.get("x-amzn-errortype")).toBe("DatabaseErrorException");
    expect(response.headers.get("x-amzn-requestid")).toMatch(/^[\w-]{36}$/);
    expect(await response.json()).toEqual({
      __type: "DatabaseErrorException",
      code: "DatabaseErrorException",
      message: "ERROR: division by zero; SQLState: 22012",
    });
  });

  it.each([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["a statement that is no text", { sql: 1 }],
    ["a value of two members", { parameters: [{ name: "a", value: { longValue: 1, stringValue: "" } }] }],
    ["a long with a fraction", { parameters: [{ name: "a", value: { longValue: 1.5 } }] }],
    // What only database drivers use.
    ["metadata", { includeResultMetadata: true }, "501 NotImplementedException"],
    ["formats", { formatRecordsAs: "JSON" }, "501 NotImplementedException"],
    ["options", { resultSetOptions: { longReturnType: "STRING" } }, "501 NotImplementedException"],
    [
      "hints",
      { parameters: [{ name: "a", value: { longValue: 1 }, typeHint: "DECIMAL" }] },
      "501 NotImplementedException",
    ],
    ["other values", { parameters: [{ name: "a", value: { constructor: 1 } }] }, "501 NotImplementedException"],
  ])("refuses %s", async (_, body, error = "400 SerializationException") => {
    const whole = typeof body === "string" ? body : { ...data.target, sql: "select 1", ...body };

    expect(await errorTypeOf({ body: whole })).toBe(error);
  });

  it("knows the paths of its operations and no others", async () => {
    expect((await post({ path: "/Other", body: {} })).status).toBe(404);
    expect((await post({ path: "/ExecuteSql", body: {} })).status).toBe(404);
    expect((await fetch(`${data.api.url}/Execute`)).status).toBe(404);
  });
});

describe("who may call", () => {
  const body = () => ({ ...data.target, sql: "insert into hidden values (1)" });
  const reading = () => ({ service: "secretsmanager" as const, path: "/", body: { SecretId: data.target.secretArn } });
  const getsSecret = { "x-amz-target": "secretsmanager.GetSecretValue" };

  it.each([
    ["an earlier key", { signedBy: newKey() }, "UnrecognizedClientException"],
    ["another secret", { signedBy: { ...newKey(), accessKeyId: key.accessKeyId } }, "InvalidSignatureException"],
    ["no signature", { headers: { authorization: "Bearer token" } }, "InvalidSignatureException"],
    ["a changed date", { headers: { "x-amz-date": "20200101T000000Z" } }, "InvalidSignatureException"],
    ["a page's origin", { headers: { origin: "https://evil.example.com" } }, "AccessDeniedException"],
    ["a page without one", { headers: { origin: "null" } }, "AccessDeniedException"],
    ["another service's signature", { service: "s3" }, "InvalidSignatureException"],
  ] satisfies [string, Partial<Sent>, string][])(
    "is nobody with %s, here or at Secrets Manager",
    async (_, wrong: Partial<Sent>, type) => {
      const secret = await post({ ...reading(), ...wrong, headers: { ...getsSecret, ...wrong.headers } });

      expect(await errorTypeOf({ body: body(), ...wrong })).toBe(`403 ${type}`);
      expect([secret.status, secret.headers.get("x-amzn-errortype")]).toEqual([403, type]);
      expect(await secret.text()).not.toContain("password");
      expect(await data.value("select count(*) from hidden")).toBe(0);
    },
  );

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

    const { responses } = await through(
      { secrets },
      "select 1 / (session_user = 'reader')::int",
      "set role postgres",
      "set session authorization postgres",
      "select * from hidden",
    );

    expect(responses.shift()).toBe("no error");
    for (const response of responses) expect(response).toMatch(/permission denied.*SQLState: 42501$/);
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
  it("is unavailable while nothing listens", async () => {
    const { responses, calls } = await through(
      { databaseUrl: `postgres://u:p@127.0.0.1:${await freePort()}` },
      "select 1",
    );

    expect(responses).toEqual(["DatabaseUnavailableException 504: UnknownError"]);
    // The real client tries such a response three times by itself.
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  it("tells a wrong password", async () => {
    const { responses } = await through({ databaseUrl: urlFor("postgres", "wrong") }, "select 1");

    expect(responses[0]).toMatch("InvalidSecretException 400");
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
    const command = new ExecuteStatementCommand({ ...data.target, sql: "select pg_sleep(10)" });
    const sleeping = errorOf(clientOf(data.api.url, 1).send(command));
    const pid = async () =>
      Number(
        await data.value("select pid from pg_stat_activity where query = 'select pg_sleep(10)' and state = 'active'"),
      );
    await expect.poll(pid).toBeGreaterThan(0);

    await end(await pid());

    expect(await sleeping).toMatch(expected);
    // All sessions end with one that crashes, and none begins for a moment.
    await expect.poll(() => errorOf(data.execute("select 1"))).toBe("no error");
  });

  it("is unavailable, and never fails in another way, while it stops, stands still and starts", async () => {
    const heard = new Set<string>();
    let isOver = false;
    const calls = Array.from({ length: 8 }, async () => {
      while (!isOver) heard.add(await errorOf(data.execute("select pg_sleep(0.01)")));
    });
    await data.restart();
    await expect.poll(() => errorOf(data.execute("select 1"))).toBe("no error");
    isOver = true;
    await Promise.all(calls);

    const expected = /^(no error|DatabaseUnavailableException 504: .*|DatabaseErrorException 400: .*57P0[123])$/;
    expect([...heard].filter((each) => !expected.test(each))).toEqual([]);
    expect(heard).toContain("DatabaseUnavailableException 504: UnknownError");
  });
});
