import { ExecuteStatementCommand } from "@aws-sdk/client-rds-data";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Key, newKey, signRequest } from "../http/signature.ts";
import { clientOf, type Emulator, errorOf, key, startEmulator } from "../test/emulator.ts";

let data: Emulator;

beforeAll(async () => {
  data = await startEmulator();
  await data.execute("create table visit (at timestamptz default now())");
});

beforeEach(async () => {
  data.api.intercept(undefined);
  await data.execute("truncate visit");
  data.api.calls.length = 0;
});

afterAll(() => data.stop());

const visit = "insert into visit default values";
const visits = async () => Number(await data.value("select count(*) from visit"));

interface Sent {
  readonly body: unknown;
  readonly path?: string;
  readonly service?: "rds-data" | "secretsmanager";
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

describe("the wire", () => {
  it("answers an error with its name in header and body", async () => {
    const response = await post({ body: { ...data.target, sql: "select 1/0" } });

    expect(response.status).toBe(400);
    expect(response.headers.get("x-amzn-errortype")).toBe("DatabaseErrorException");
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({
      __type: "DatabaseErrorException",
      code: "DatabaseErrorException",
      message: "ERROR: division by zero; SQLState: 22012",
    });
  });

  it("writes blobs in base64 and leaves out what is not there", async () => {
    const response = await post({ body: { ...data.target, sql: "select '\\x0102'::bytea" } });

    expect(await response.text()).toBe('{"numberOfRecordsUpdated":0,"records":[[{"blobValue":"AQI="}]]}');
  });

  it.each([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["a statement that is no text", { sql: 1 }],
    ["a value of two members", { parameters: [{ name: "a", value: { longValue: 1, stringValue: "" } }] }],
    ["a long with a fraction", { parameters: [{ name: "a", value: { longValue: 1.5 } }] }],
  ])("refuses %s", async (_, body) => {
    const whole = typeof body === "string" ? body : { ...data.target, sql: "select 1", ...body };

    expect(await errorTypeOf({ body: whole })).toBe("400 SerializationException");
  });

  it.each([
    { includeResultMetadata: true },
    { formatRecordsAs: "JSON" },
    { resultSetOptions: { longReturnType: "STRING" } },
    { parameters: [{ name: "a", value: { stringValue: "1" }, typeHint: "DECIMAL" }] },
    { parameters: [{ name: "a", value: { constructor: 1 } }] },
  ])("does not ignore what only database drivers use: %j", async (more) => {
    expect(await errorTypeOf({ body: { ...data.target, sql: "select 1", ...more } })).toBe(
      "501 NotImplementedException",
    );
  });

  it("knows the paths of its operations and no others", async () => {
    expect((await post({ path: "/Other", body: {} })).status).toBe(404);
    expect((await fetch(`${data.api.url}/Execute`)).status).toBe(404);
  });
});

describe("who may call", () => {
  const body = () => ({ ...data.target, sql: visit });
  const reading = () => ({ service: "secretsmanager" as const, path: "/", body: { SecretId: data.target.secretArn } });
  const getsSecret = { "x-amz-target": "secretsmanager.GetSecretValue" };

  it("is whoever signs by the key of its start", async () => {
    const secret = await post({ ...reading(), headers: getsSecret });

    expect((await post({ body: body() })).status).toBe(200);
    expect(JSON.parse(JSON.parse(await secret.text()).SecretString)).toEqual(
      data.api.secrets[`${data.target.secretArn}`],
    );
  });

  it.each([
    ["an earlier key", { signedBy: newKey() }, "UnrecognizedClientException"],
    ["another secret", { signedBy: { ...newKey(), accessKeyId: key.accessKeyId } }, "InvalidSignatureException"],
    ["no signature", { headers: { authorization: "Bearer token" } }, "InvalidSignatureException"],
    ["a changed date", { headers: { "x-amz-date": "20200101T000000Z" } }, "InvalidSignatureException"],
    ["a page's origin", { headers: { origin: "https://evil.example.com" } }, "AccessDeniedException"],
    ["a page without one", { headers: { origin: "null" } }, "AccessDeniedException"],
  ] satisfies [string, Partial<Sent>, string][])(
    "is nobody with %s, here or at Secrets Manager",
    async (_, wrong: Partial<Sent>, type) => {
      const secret = await post({ ...reading(), ...wrong, headers: { ...getsSecret, ...wrong.headers } });

      expect(await errorTypeOf({ body: body(), ...wrong })).toBe(`403 ${type}`);
      expect([secret.status, secret.headers.get("x-amzn-errortype")]).toEqual([403, type]);
      expect(await secret.text()).not.toContain("password");
      expect(await visits()).toBe(0);
    },
  );

  it("is nobody who signs for another service", async () => {
    expect(await errorTypeOf({ body: body(), service: "secretsmanager" })).toBe("403 InvalidSignatureException");
    expect(await errorTypeOf({ ...reading(), service: "rds-data", headers: getsSecret })).toBe(
      "403 InvalidSignatureException",
    );
  });
});

describe("calls", () => {
  it("are listed in order, with the client's attempts, until the list is emptied", async () => {
    data.api.intercept(({ attempt }) => (attempt === 1 ? { kind: "drop-before" } : undefined));
    await data.execute("select 1");

    expect(data.api.calls).toEqual([
      { operation: "ExecuteStatement", sql: "select 1", number: 1, attempt: 1 },
      { operation: "ExecuteStatement", sql: "select 1", number: 2, attempt: 2 },
    ]);
    data.api.calls.length = 0;
    data.api.intercept(undefined);
    await data.execute("select 2");
    expect(data.api.calls).toEqual([{ operation: "ExecuteStatement", sql: "select 2", number: 1, attempt: 1 }]);
  });
});

describe("faults", () => {
  const resuming = { status: 400, type: "DatabaseResumingException", message: "Resuming after being auto-paused" };

  it.each([
    [{ kind: "error", ...resuming }, "DatabaseResumingException 400: Resuming after being auto-paused", 0],
    [{ kind: "error-after", ...resuming }, "DatabaseResumingException 400: Resuming after being auto-paused", 1],
    [{ kind: "503" }, "ServiceUnavailableError 503: UnknownError", 0],
    [{ kind: "throttle" }, "ThrottlingException 400: Rate exceeded", 0],
    [{ kind: "drop-before" }, "TimeoutError undefined: socket hang up", 0],
    [{ kind: "drop-after" }, "TimeoutError undefined: socket hang up", 1],
    [{ kind: "delay", ms: 20 }, "no error", 1],
  ] as const)("%o", async (fault, error, ran) => {
    data.api.intercept(() => fault);
    const command = new ExecuteStatementCommand({ ...data.target, sql: visit });

    expect(await errorOf(clientOf(data.api.url, 1).send(command))).toBe(error);
    data.api.intercept(undefined);
    expect(await visits()).toBe(ran);
  });

  it("cut-body: the statement has run, and half of the answer comes", async () => {
    data.api.intercept(() => ({ kind: "cut-body" }));
    const cut = await post({ body: { ...data.target, sql: visit } });
    data.api.intercept(undefined);

    expect([cut.status, Number(cut.headers.get("content-length"))]).toEqual([200, 49]);
    await expect(cut.text()).rejects.toThrow("terminated");
    expect(await visits()).toBe(1);
  });

  it("idle connections are reset: the next request on one breaks, and nothing of it has run", async () => {
    const client = clientOf(data.api.url);
    const send = (sql: string) => client.send(new ExecuteStatementCommand({ ...data.target, sql }));
    await send("select 1");
    data.api.calls.length = 0;

    data.api.resetIdleConnections();
    await send(visit);
    await send("select 1");

    expect(data.api.calls.map(({ attempt }) => attempt)).toEqual([2, 1]);
    expect(await visits()).toBe(1);
  });
});
