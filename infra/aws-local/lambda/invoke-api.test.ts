import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
  it.each<[string, string, Call, number, string | undefined, unknown]>([
    ["the result", "ops-echo", { body: '{"days":3}' }, 200, "$LATEST", { event: { days: 3 } }],
    ["the result without a payload", "ops-echo", { body: "" }, 200, "$LATEST", { event: {} }],
    ["the result of an ARN", arn, {}, 200, "$LATEST", { event: {} }],
    ["the result of a partial ARN", arn.slice(arn.indexOf("1234")), {}, 200, "$LATEST", { event: {} }],
    ["the version of the qualifier", "ops-echo", { qualifier: "7" }, 200, "7", { version: 7 }],
    ["the latest version", "ops-echo", { qualifier: "$LATEST" }, 200, "$LATEST", { event: {} }],
    ["a stream, collected", "things-list", {}, 200, "$LATEST", { ...list, body: "[]", isBase64Encoded: false }],
    ["the error", "ops-fail", {}, 200, "$LATEST", { errorType: "RangeError", errorMessage: "too far" }],
    ["404", arn.replace(":function", ":layer"), {}, 404, undefined, {}],
    ["404", "ops-echo", { qualifier: "8" }, 404, undefined, notFound("ops-echo:8")],
    ["404", "../ops-echo", {}, 404, undefined, { Type: "User" }],
    ["404", "ops%2Decho", {}, 404, undefined, { Type: "User" }],
  ])("returns with %s: %s %j", async (_, name, call, status, version, json) => {
    const { headers, ...response } = await invoke(name, call);

    expect(response).toMatchObject({ status, json });
    expect(headers["x-amz-executed-version"]).toBe(version);
    expect(headers["x-amz-function-error"]).toBe(name === "ops-fail" ? "Unhandled" : undefined);
    expect(headers["x-amzn-errortype"]).toBe(status === 404 ? "ResourceNotFoundException" : undefined);
  });

  it.each<[number, string, Call | (() => ReturnType<typeof send>)]>([
    [204, "undefined", { type: "DryRun" }],
    [400, "InvalidRequestContentException", { body: "{days:3}" }],
    [403, "AccessDeniedException", { headers: { Origin: "http://localhost:3000" } }],
    [403, "MissingAuthenticationTokenException", () => send(gateway.url, pathOf("ops-echo"), { method: "POST" })],
    [403, "UnrecognizedClientException", { by: newKey() }],
    [403, "InvalidSignatureException", { by: { ...newKey(), accessKeyId: key.accessKeyId } }],
    [403, "undefined", () => send(gateway.url, pathOf("ops-echo"))],
    [413, "RequestTooLargeException", { body: JSON.stringify("x".repeat(6_291_456)) }],
  ])("returns %i %s and runs nothing", async (status, type, call) => {
    const response = await (typeof call === "function" ? call() : invoke("ops-echo", call));

    expect([response.status, `${response.headers["x-amzn-errortype"]}`]).toEqual([status, type]);
    expect("content-length" in response.headers).toBe(status !== 204);
    expect(built.seen()).toEqual([]);
  });

  it("returns 429 after a wait for an environment, and never runs it, but 202 to an event, which runs later", async () => {
    const release = built.newGate();
    const running = invoke("ops-limited", { body: '"first"' });
    await expect.poll(() => built.seen()).toEqual(["first"]);

    const { status, json, headers } = await invoke("ops-limited", { body: '"throttled"' });
    const accepted = await invoke("ops-limited", { body: '"event"', type: "Event" });
    expect(built.seen()).toEqual(["first"]);
    release();

    expect([status, headers["x-amzn-errortype"]]).toEqual([429, "TooManyRequestsException"]);
    expect(json).toMatchObject({ message: "Rate Exceeded.", Reason: "ConcurrentInvocationLimitExceeded" });
    expect([accepted.status, accepted.text, (await running).status]).toEqual([202, "", 200]);
    await expect.poll(() => built.seen()).toEqual(["first", "event"]);
  });
});
