import { ExecuteStatementCommand, RDSDataClient } from "@aws-sdk/client-rds-data";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type Key, newKey } from "../../../../infra/aws-local/http/signature.ts";
import { key } from "../../../support/environment.ts";
import { captured, send } from "../fixtures.ts";
import { type Emulator, resourceArn, secretArn, startEmulator } from "./emulator.ts";

let data: Emulator;

beforeAll(async () => {
  data = await startEmulator();
  await data.execute("create table visit (at timestamptz default now())");
});

afterEach(() => {
  vi.useRealTimers();
});

afterAll(() => data.stop());

const command = new ExecuteStatementCommand({ resourceArn, secretArn, sql: "insert into visit default values" });

/** A visit as the SDK sends it. */
const visitOf = (credentials: Key = key) =>
  captured((requestHandler) =>
    new RDSDataClient({ endpoint: data.api.url, region: "eu-central-1", credentials, requestHandler }).send(command),
  );

async function errorOf(visit: Awaited<ReturnType<typeof visitOf>>) {
  const { status, headers } = await send(data.api.url, visit.path, visit);
  return [status, headers["x-amzn-errortype"], (await data.value("select count(*) from visit"))?.longValue];
}

describe("the Data API", () => {
  it("answers what is signed by the key of its start", async () => {
    const { status } = await send(data.api.url, "/Execute", await visitOf());
    await data.execute("truncate visit");

    expect(status).toBe(200);
  });

  it("refuses another key, such as that of an earlier start", async () => {
    expect(await errorOf(await visitOf(newKey()))).toEqual([403, "UnrecognizedClientException", 0]);
  });

  it("refuses another secret", async () => {
    const visit = await visitOf({ ...newKey(), accessKeyId: key.accessKeyId });

    expect(await errorOf(visit)).toEqual([403, "InvalidSignatureException", 0]);
  });

  it("refuses a missing and a malformed signature", async () => {
    const { authorization: _, ...unsigned } = (await visitOf()).headers;
    const none = { ...unsigned, authorization: "Bearer token" };

    expect(await errorOf({ ...(await visitOf()), headers: unsigned })).toEqual([
      403,
      "MissingAuthenticationTokenException",
      0,
    ]);
    expect(await errorOf({ ...(await visitOf()), headers: none })).toEqual([403, "InvalidSignatureException", 0]);
  });

  it("refuses a body, a path, a host or a service other than those signed", async () => {
    const visit = await visitOf();
    const { authorization = "" } = visit.headers;
    const others = [
      { ...visit, body: visit.body.replace("default values", "values (now())") },
      { ...visit, path: "/BeginTransaction" },
      { ...visit, headers: { ...visit.headers, host: "localhost" } },
      { ...visit, headers: { ...visit.headers, authorization: authorization.replace("rds-data", "s3") } },
    ];

    for (const other of others) expect(await errorOf(other)).toEqual([403, "InvalidSignatureException", 0]);
  });

  it.each([-16, 16])("refuses a signature of %s minutes from now", async (minutes) => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + minutes * 60_000 });
    const visit = await visitOf();
    vi.useRealTimers();

    expect(await errorOf(visit)).toEqual([403, "InvalidSignatureException", 0]);
  });

  it.each([{ host: "evil.example.com" }, { origin: "https://evil.example.com" }, { origin: "null" }])(
    "refuses pages in browsers, whatever they sign: %o",
    async (header) => {
      const visit = await visitOf();

      expect(await errorOf({ ...visit, headers: { ...visit.headers, ...header } })).toEqual([
        403,
        "AccessDeniedException",
        0,
      ]);
    },
  );
});

describe("Secrets Manager", () => {
  const readingOf = (credentials: Key = key) =>
    captured((requestHandler) =>
      new SecretsManagerClient({ endpoint: data.api.url, region: "eu-central-1", credentials, requestHandler }).send(
        new GetSecretValueCommand({ SecretId: secretArn }),
      ),
    );

  it("tells a secret to whoever signs by the key of its start", async () => {
    const { status, text } = await send(data.api.url, "/", await readingOf());

    expect({ status, secret: JSON.parse(JSON.parse(text).SecretString) }).toEqual({
      status: 200,
      secret: data.api.secrets[secretArn],
    });
  });

  it.each([
    ["another key", async () => readingOf(newKey()), "UnrecognizedClientException"],
    ["no signature", async () => without("authorization"), "MissingAuthenticationTokenException"],
    ["a signature for the Data API", async () => ofAnotherService(), "InvalidSignatureException"],
    ["a page in a browser", async () => fromPage(), "AccessDeniedException"],
  ])("refuses %s", async (_, reading, type) => {
    const { status, headers, text } = await send(data.api.url, "/", await reading());

    expect([status, headers["x-amzn-errortype"]]).toEqual([403, type]);
    expect(text).not.toContain("password");
  });

  async function without(name: string) {
    const reading = await readingOf();
    return {
      ...reading,
      headers: Object.fromEntries(Object.entries(reading.headers).filter(([each]) => each !== name)),
    };
  }

  async function ofAnotherService() {
    const reading = await readingOf();
    const { authorization = "" } = reading.headers;
    return {
      ...reading,
      headers: { ...reading.headers, authorization: authorization.replace("secretsmanager", "rds-data") },
    };
  }

  async function fromPage() {
    const reading = await readingOf();
    return { ...reading, headers: { ...reading.headers, origin: "https://evil.example.com" } };
  }
});
