import { ExecuteStatementCommand } from "@aws-sdk/client-rds-data";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startDataApi } from "../../../../infra/aws-local/data-api/server.ts";
import { signRequest } from "../../../../infra/aws-local/http/signature.ts";
import { key } from "../../../support/environment.ts";
import { clientOf, type Emulator, errorOf, resourceArn, secretArn, startEmulator } from "./emulator.ts";

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
const visits = async () => (await data.value("select count(*) from visit"))?.longValue;

async function post(path: string, body: unknown) {
  const url = new URL(data.api.url + path);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return await fetch(url, {
    method: "POST",
    body: text,
    headers: await signRequest("rds-data", key, url, "POST", Buffer.from(text)),
  });
}

describe("the wire", () => {
  it("answers an error with its name in header and body", async () => {
    const answer = await post("/Execute", { resourceArn, secretArn, sql: "select 1/0" });

    expect(answer.status).toBe(400);
    expect(answer.headers.get("x-amzn-errortype")).toBe("DatabaseErrorException");
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(await answer.json()).toEqual({
      __type: "DatabaseErrorException",
      code: "DatabaseErrorException",
      message: "ERROR: division by zero; SQLState: 22012",
    });
  });

  it("writes blobs in base64 and leaves out what is not there", async () => {
    const answer = await post("/Execute", { resourceArn, secretArn, sql: "select '\\x0102'::bytea" });

    expect(await answer.text()).toBe('{"numberOfRecordsUpdated":0,"records":[[{"blobValue":"AQI="}]]}');
  });

  it.each([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["a statement that is no text", { resourceArn, secretArn, sql: 1 }],
    [
      "a value of two members",
      {
        resourceArn,
        secretArn,
        sql: "select 1",
        parameters: [{ name: "a", value: { longValue: 1, stringValue: "" } }],
      },
    ],
    [
      "an unknown member",
      { resourceArn, secretArn, sql: "select 1", parameters: [{ name: "a", value: { constructor: 1 } }] },
    ],
    [
      "a long with a fraction",
      { resourceArn, secretArn, sql: "select 1", parameters: [{ name: "a", value: { longValue: 1.5 } }] },
    ],
  ])("refuses %s", async (_, body) => {
    const answer = await post("/Execute", body);

    expect([answer.status, answer.headers.get("x-amzn-errortype")]).toEqual([400, "SerializationException"]);
  });

  it("knows the service's five paths and no others", async () => {
    expect((await post("/Other", {})).status).toBe(404);
    expect((await fetch(`${data.api.url}/Execute`)).status).toBe(404);
  });

  it("adds the latency it is given to every answer", async () => {
    const api = await startDataApi({ databaseUrl: data.postgres.url, key, latency: 100 });
    const client = clientOf(api.url);
    const startedAt = performance.now();
    await client.send(new ExecuteStatementCommand({ resourceArn, secretArn, sql: "select 1" }));
    await errorOf(client.send(new ExecuteStatementCommand({ resourceArn, secretArn, sql: "select" + " 1/0" })));
    await api.close();

    expect(performance.now() - startedAt).toBeGreaterThan(200);
  });
});

describe("calls", () => {
  it("are listed in order, with the client's attempts, until the list is emptied", async () => {
    const transactionId = await data.begin();
    await data.execute("select 1", { transactionId });
    await data.commit(transactionId);

    expect(data.api.calls).toEqual([
      { operation: "BeginTransaction", number: 1, attempt: 1 },
      { operation: "ExecuteStatement", sql: "select 1", number: 2, attempt: 1 },
      { operation: "CommitTransaction", number: 3, attempt: 1 },
    ]);
    data.api.calls.length = 0;
    await data.execute("select 2");
    expect(data.api.calls).toEqual([{ operation: "ExecuteStatement", sql: "select 2", number: 1, attempt: 1 }]);
  });
});

describe("faults", () => {
  const unavailable = { status: 503, type: "ServiceUnavailableError" };

  it("error: answers without running", async () => {
    const message =
      "The Aurora DB instance db-X is resuming after being auto-paused. Please wait a few seconds and try again.";
    data.api.intercept(() => ({ kind: "error", status: 400, type: "DatabaseResumingException", message }));

    expect(await errorOf(data.execute(visit))).toBe(`DatabaseResumingException 400: ${message}`);
    expect(data.api.calls).toHaveLength(1);
    data.api.intercept(undefined);
    expect(await visits()).toBe(0);
  });

  it("error-after: the statement has run, and the client sends it again", async () => {
    data.api.intercept(({ attempt }) => (attempt < 3 ? { kind: "error-after", ...unavailable } : undefined));
    await data.execute(visit);
    data.api.intercept(undefined);

    expect(await visits()).toBe(3);
  });

  it("drop-before: nothing has run", async () => {
    data.api.intercept(async ({ attempt }) => (attempt === 1 ? { kind: "drop-before" } : undefined));
    await data.execute(visit);
    data.api.intercept(undefined);

    expect(data.api.calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await visits()).toBe(1);
  });

  it("drop-after: the statement has run, and there is no answer", async () => {
    data.api.intercept(({ attempt }) => (attempt === 1 ? { kind: "drop-after" } : undefined));
    await data.execute(visit);
    data.api.intercept(undefined);

    expect(await visits()).toBe(2);
  });

  it("cut-body: the statement has run, and half of the answer comes", async () => {
    data.api.intercept(({ attempt }) => (attempt === 1 ? { kind: "cut-body" } : undefined));
    const cut = await post("/Execute", { resourceArn, secretArn, sql: visit });
    data.api.intercept(undefined);

    expect([cut.status, Number(cut.headers.get("content-length"))]).toEqual([200, 49]);
    await expect(cut.text()).rejects.toThrow("terminated");
    expect(await visits()).toBe(1);
  });

  it.each([
    ["503", "ServiceUnavailableError 503: UnknownError"],
    ["throttle", "ThrottlingException 400: Rate exceeded"],
  ] as const)("%s: answers without running", async (kind, refused) => {
    data.api.intercept(() => ({ kind }));

    expect(await errorOf(data.execute(visit))).toBe(refused);
    data.api.intercept(undefined);
    expect(await visits()).toBe(0);
  });

  it("idle connections are reset: the next request on one breaks, and nothing of it has run", async () => {
    const client = clientOf(data.api.url);
    const send = (sql: string) => client.send(new ExecuteStatementCommand({ resourceArn, secretArn, sql }));
    await send("select 1");
    data.api.calls.length = 0;

    data.api.resetIdleConnections();
    await send(visit);
    await send("select 1");

    expect(data.api.calls.map(({ attempt }) => attempt)).toEqual([2, 1]);
    expect(await visits()).toBe(1);
  });

  it("delay: the answer comes later", async () => {
    data.api.intercept(() => ({ kind: "delay", ms: 120 }));
    const startedAt = performance.now();
    await data.execute("select 1");

    expect(performance.now() - startedAt).toBeGreaterThan(115);
  });
});
