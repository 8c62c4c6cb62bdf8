import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type ApiGateway, startApiGateway } from "../api-gateway/server.ts";
import { newKey, signRequest } from "../http/signature.ts";
import { streaming, writeFunctions } from "../test/functions.ts";
import { restApi } from "../test/rest-api.ts";
import { send } from "../test/send.ts";
import { invokeApi } from "./invoke-api.ts";
import { startLambda } from "./lambda.ts";

const key = newKey();
let built: Awaited<ReturnType<typeof writeFunctions>>;
let next: Awaited<ReturnType<typeof writeFunctions>>;
let gateway: ApiGateway;

beforeAll(async () => {
  built = await writeFunctions({
    "ops/echo": "export const handler = async (event) => { tell(event); return { event }; };",
    "ops/fail": "export const handler = async () => { throw new RangeError('too far'); };",
    "ops/later": "export const handler = async () => { await gate(); tell('done'); };",
    "ops/limited": "export const handler = async () => { tell('begun'); await gate(); };",
    "things/list": streaming(`start({ statusCode: 200, headers: { "X-Kind": "list" } }).write("[]"); stream.end();`),
  });
  const lambda = await startLambda({ ...built, limits: { environments: 1, gatewayInMilliseconds: 1_000 } });
  next = await writeFunctions({ "ops/echo": "export const handler = async () => ({ version: 7 });" });
  const versions = new Map([["7", await startLambda(next)]]);
  gateway = await startApiGateway({ document: restApi({}), lambda, pages: [invokeApi(lambda, key, versions)] });
});

afterAll(async () => {
  await gateway.close();
  await built.remove();
  await next.remove();
});

beforeEach(() => {
  built.forget();
  vi.spyOn(console, "error").mockImplementation(() => {});
});

const pathOf = (name: string, qualifier?: string) =>
  `/2015-03-31/functions/${name}/invocations${qualifier ? `?Qualifier=${encodeURIComponent(qualifier)}` : ""}`;

async function invoke(name: string, body: string | Buffer = "{}", headers = {}, signing = key, qualifier?: string) {
  const url = new URL(gateway.url + pathOf(name, qualifier));
  const signature = await signRequest("lambda", signing, url, "POST", Buffer.from(body));
  return await send(gateway.url, pathOf(name, qualifier), {
    method: "POST",
    body,
    headers: { Host: url.host, ...signature, ...headers },
  });
}

describe("Lambda's Invoke API", () => {
  it("answers 200 with the result", async () => {
    const { status, json, headers } = await invoke("ops-echo", '{"days":3}');

    expect({ status, json }).toEqual({ status: 200, json: { event: { days: 3 } } });
    expect(headers).not.toHaveProperty("x-amz-function-error");
    expect(headers["x-amz-executed-version"]).toBe("$LATEST");
  });

  it.each(["123456789012:function:ops-echo", "arn:aws:lambda:eu-central-1:123456789012:function:ops-echo"])(
    "finds a function as %s",
    async (name) => {
      expect(await invoke(encodeURIComponent(name))).toMatchObject({ status: 200, json: { event: {} } });
      expect((await invoke(encodeURIComponent(name.replace(":function", ":layer")))).status).toBe(404);
    },
  );

  it("runs the version that the qualifier names", async () => {
    const versionOf = async (qualifier: string) => {
      const { status, json, headers } = await invoke("ops-echo", "{}", {}, key, qualifier);
      return [status, headers["x-amz-executed-version"], json];
    };

    expect(await versionOf("7")).toEqual([200, "7", { version: 7 }]);
    expect(await versionOf("$LATEST")).toEqual([200, "$LATEST", { event: {} }]);
    expect(await versionOf("8")).toEqual([404, undefined, { Type: "User", Message: "Function not found: ops-echo:8" }]);
  });

  it("answers 429 after a wait for an environment, but runs an event later", async () => {
    const release = built.newGate();
    const running = invoke("ops-limited");
    await expect.poll(() => built.seen()).toEqual(["begun"]);

    const { status, json, headers } = await invoke("ops-limited");
    const accepted = await invoke("ops-limited", "{}", { "X-Amz-Invocation-Type": "Event" });
    release();

    expect([status, headers["x-amzn-errortype"]]).toEqual([429, "TooManyRequestsException"]);
    expect(json).toEqual({
      Type: "User",
      message: "Rate Exceeded.",
      Reason: "ConcurrentInvocationLimitExceeded",
    });
    expect([accepted.status, (await running).status]).toEqual([202, 200]);
    await expect.poll(() => built.seen()).toEqual(["begun", "begun"]);
  });

  it("answers 200 with the result of a function that streams, collected", async () => {
    const { json } = await invoke("things-list");

    expect(json).toEqual({ statusCode: 200, headers: { "X-Kind": "list" }, body: "[]", isBase64Encoded: false });
  });

  it("answers 200 with the error, and says that it is one", async () => {
    const { status, json, headers } = await invoke("ops-fail");

    expect(status).toBe(200);
    expect(json).toMatchObject({ errorType: "RangeError", errorMessage: "too far", trace: expect.any(Array) });
    expect(headers["x-amz-function-error"]).toBe("Unhandled");
  });

  it("invokes with an empty object if there is no payload", async () => {
    expect((await invoke("ops-echo", "")).json).toEqual({ event: {} });
  });

  it("answers 202 at once to an event", async () => {
    const release = built.newGate();

    const { status, text } = await invoke("ops-later", "{}", { "X-Amz-Invocation-Type": "Event" });

    expect({ status, text }).toEqual({ status: 202, text: "" });
    expect(built.seen()).toEqual([]);
    release();
    await expect.poll(() => built.seen()).toEqual(["done"]);
  });

  it("answers 204 to a dry run, and runs nothing", async () => {
    const { status, text } = await invoke("ops-echo", "{}", { "X-Amz-Invocation-Type": "DryRun" });

    expect({ status, text }).toEqual({ status: 204, text: "" });
    expect(built.seen()).toEqual([]);
  });

  it("answers 400 to a payload that is not JSON", async () => {
    const { status, headers } = await invoke("ops-echo", "{days:3}");

    expect(status).toBe(400);
    expect(headers["x-amzn-errortype"]).toBe("InvalidRequestContentException");
  });

  it.each(["https://panel.example.com", "http://localhost:3000", "null"])(
    "answers 403 to a page of %s",
    async (origin) => {
      const { status } = await invoke("ops-echo", "{}", { Origin: origin });

      expect(status).toBe(403);
      expect(built.seen()).toEqual([]);
    },
  );

  it.each([
    [
      "MissingAuthenticationTokenException",
      () =>
        send(gateway.url, pathOf("ops-echo"), {
          method: "POST",
          body: "{}",
          headers: { Host: new URL(gateway.url).host },
        }),
    ],
    ["UnrecognizedClientException", () => invoke("ops-echo", "{}", {}, newKey())],
    ["InvalidSignatureException", () => invoke("ops-echo", "{}", {}, { ...newKey(), accessKeyId: key.accessKeyId })],
  ])("answers 403 %s to whoever has not the key, and runs nothing", async (type, ask) => {
    const { status, headers } = await ask();

    expect({ status, type: headers["x-amzn-errortype"] }).toEqual({ status: 403, type });
    expect(built.seen()).toEqual([]);
  });

  it.each(["ops-nothing", "constructor", "..%2Fops-echo", "ops%2Decho"])("answers 404 for %s", async (name) => {
    const { status, json, headers } = await invoke(name);

    expect(status).toBe(404);
    expect(json).toEqual({ Type: "User", Message: `Function not found: ${name}` });
    expect(headers["x-amzn-errortype"]).toBe("ResourceNotFoundException");
  });

  it("answers 413 to more than 6 MB", async () => {
    const { status, headers } = await invoke("ops-echo", JSON.stringify("x".repeat(6_291_456)));

    expect(status).toBe(413);
    expect(headers["x-amzn-errortype"]).toBe("RequestTooLargeException");
  });

  it("does not answer other methods than POST", async () => {
    expect((await send(gateway.url, "/2015-03-31/functions/ops-echo/invocations")).status).toBe(403);
  });
});
