import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ApiGateway, startApiGateway } from "../api-gateway/server.ts";
import { type Key, newKey, signRequest } from "../http/signature.ts";
import { streaming } from "../test/functions.ts";
import { restApi } from "../test/rest-api.ts";
import { send } from "../test/send.ts";
import { useLambda } from "../test/use-lambda.ts";
import { invokeApi } from "./invoke-api.ts";

const key = newKey();
const list = { statusCode: 200, headers: { "X-Kind": "list" } };
let gateway: ApiGateway;

const { built, start } = useLambda({
  "ops/echo": "export const handler = async (event) => { tell(event); return { event }; };",
  "ops/fail": "export const handler = async () => { throw new RangeError('too far'); };",
  "ops/limited": "export const handler = async (event) => { tell(event); await gate(); };",
  "things/list": streaming(`start(${JSON.stringify(list)}).write("[]"); stream.end();`),
});
const next = useLambda({ "ops/echo": "export const handler = async () => ({ version: 7 });" });

beforeAll(async () => {
  const lambda = await start({ limits: { environments: 1, gatewayInMilliseconds: 1_000 } });
  const versions = new Map([["7", await next.start()]]);
  gateway = await startApiGateway({ document: restApi({}), lambda, pages: [invokeApi(lambda, key, versions)] });
});

afterAll(() => gateway.close());

const pathOf = (name: string, qualifier?: string) =>
  `/2015-03-31/functions/${encodeURIComponent(name)}/invocations${qualifier ? `?Qualifier=${encodeURIComponent(qualifier)}` : ""}`;

interface Call {
  readonly body?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly by?: Key;
  readonly qualifier?: string;
}

async function invoke(name: string, { body = "{}", type, headers, by = key, qualifier }: Call = {}) {
  const url = new URL(gateway.url + pathOf(name, qualifier));
  const signature = await signRequest("lambda", by, url, "POST", Buffer.from(body));
  const sent = { Host: url.host, ...signature, ...(type && { "X-Amz-Invocation-Type": type }), ...headers };
  return await send(gateway.url, pathOf(name, qualifier), { method: "POST", body, headers: sent });
}

const arn = "arn:aws:lambda:eu-central-1:123456789012:function:ops-echo";
const notFound = (name: string) => ({ Type: "User", Message: `Function not found: ${name}` });

describe("Lambda's Invoke API", () => {
  interface Row {
    readonly what: string;
    readonly name?: string;
    readonly call?: Call;
    readonly version?: string;
    readonly json: unknown;
  }

  it.each<Row>([
    { what: "the result", call: { body: '{"days":3}' }, json: { event: { days: 3 } } },
    { what: "the result without a payload", call: { body: "" }, json: { event: {} } },
    { what: "the result of an ARN", name: arn, json: { event: {} } },
    { what: "the result of a partial ARN", name: arn.slice(arn.indexOf("1234")), json: { event: {} } },
    { what: "the result of the version of a qualifier", call: { qualifier: "7" }, version: "7", json: { version: 7 } },
    { what: "the result of the latest version", call: { qualifier: "$LATEST" }, json: { event: {} } },
    { what: "a stream, collected", name: "things-list", json: { ...list, body: "[]", isBase64Encoded: false } },
  ])("returns 200 with $what", async ({ name = "ops-echo", call, version = "$LATEST", json }) => {
    const { headers, ...response } = await invoke(name, call);

    expect(response).toMatchObject({ status: 200, json });
    expect(headers["x-amz-executed-version"]).toBe(version);
    expect(headers).not.toHaveProperty("x-amz-function-error");
  });

  it("returns 200 with the error of a function that fails", async () => {
    const { headers, ...response } = await invoke("ops-fail");

    expect(response).toMatchObject({ status: 200, json: { errorType: "RangeError", errorMessage: "too far" } });
    expect(headers["x-amz-function-error"]).toBe("Unhandled");
  });

  it.each<Row>([
    { what: "an ARN of something else", name: arn.replace(":function", ":layer"), json: {} },
    { what: "an unknown version", call: { qualifier: "8" }, json: notFound("ops-echo:8") },
    { what: "a path", name: "../ops-echo", json: { Type: "User" } },
    { what: "an escaped name", name: "ops%2Decho", json: { Type: "User" } },
  ])("returns 404 to $what", async ({ name = "ops-echo", call, json }) => {
    const { headers, ...response } = await invoke(name, call);

    expect(response).toMatchObject({ status: 404, json });
    expect(headers["x-amzn-errortype"]).toBe("ResourceNotFoundException");
    expect(headers).not.toHaveProperty("x-amz-executed-version");
  });

  const unsigned = (options?: { readonly method: string }) => send(gateway.url, pathOf("ops-echo"), options);

  it("returns 204 to a dry run, and runs nothing", async () => {
    const { status, headers } = await invoke("ops-echo", { type: "DryRun" });

    expect(status).toBe(204);
    expect(headers).not.toHaveProperty("content-length");
    expect(built.seen()).toEqual([]);
  });

  it.each([
    {
      status: 400,
      what: "a payload that is no JSON",
      error: "InvalidRequestContentException",
      request: () => invoke("ops-echo", { body: "{days:3}" }),
    },
    {
      status: 403,
      what: "a page of a website",
      error: "AccessDeniedException",
      request: () => invoke("ops-echo", { headers: { Origin: "http://localhost:3000" } }),
    },
    {
      status: 403,
      what: "a request without a signature",
      error: "MissingAuthenticationTokenException",
      request: () => unsigned({ method: "POST" }),
    },
    {
      status: 403,
      what: "an unknown key",
      error: "UnrecognizedClientException",
      request: () => invoke("ops-echo", { by: newKey() }),
    },
    {
      status: 403,
      what: "a signature by another secret",
      error: "InvalidSignatureException",
      request: () => invoke("ops-echo", { by: { ...newKey(), accessKeyId: key.accessKeyId } }),
    },
    { status: 403, what: "another method", error: undefined, request: () => unsigned() },
    {
      status: 413,
      what: "a payload of more than 6 MB",
      error: "RequestTooLargeException",
      request: () => invoke("ops-echo", { body: JSON.stringify("x".repeat(6_291_456)) }),
    },
  ])("returns $status to $what, and runs nothing", async ({ status, error, request }) => {
    const response = await request();

    expect([response.status, response.headers["x-amzn-errortype"]]).toEqual([status, error]);
    expect(response.headers).toHaveProperty("content-length");
    expect(built.seen()).toEqual([]);
  });

  describe("while all environments are busy", () => {
    let release: () => void;
    let running: ReturnType<typeof invoke>;

    beforeEach(async () => {
      release = built.newGate();
      running = invoke("ops-limited", { body: '"first"' });
      await expect.poll(() => built.seen()).toEqual(["first"]);
    });

    it("returns 429 after a wait, and never runs the request", async () => {
      const { status, json, headers } = await invoke("ops-limited", { body: '"throttled"' });
      release();

      expect([status, headers["x-amzn-errortype"]]).toEqual([429, "TooManyRequestsException"]);
      expect(json).toMatchObject({ message: "Rate Exceeded.", Reason: "ConcurrentInvocationLimitExceeded" });
      expect((await running).status).toBe(200);
      expect(built.seen()).toEqual(["first"]);
    });

    it("returns 202 to an event, and runs it later", async () => {
      const { status, text } = await invoke("ops-limited", { body: '"event"', type: "Event" });
      expect(built.seen()).toEqual(["first"]);
      release();

      expect([status, text]).toEqual([202, ""]);
      expect((await running).status).toBe(200);
      await expect.poll(() => built.seen()).toEqual(["first", "event"]);
    });
  });
});
