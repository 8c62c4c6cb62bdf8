import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiGateway, startApiGateway } from "../api-gateway/server.ts";
import { streaming } from "../test/functions.ts";
import { restApi, served, streamed } from "../test/rest-api.ts";
import { send } from "../test/send.ts";
import { useLambda } from "../test/use-lambda.ts";
import type { Lambda } from "./lambda.ts";

/* Streams on their way from a function to a client of the API. */

const streamedBytes = 20_000_000;
const endless = `
      stream.once("close", () => tell("closed"));
      for (;;) {
        tell("chunk");
        if (!stream.write(Buffer.alloc(65_536))) await new Promise((done) => stream.once("drain", done));
      }`;
const silent = `start(); stream.once("close", () => tell("closed")); await gate();`;

const { built, start, logged } = useLambda({
  slow: streaming(`
      start({ statusCode: 201, headers: { "X-Kind": "list" } });
      await gate();
      stream.write("first ");
      await gate();
      stream.end("last");`),
  cookies: streaming(`start({ statusCode: 200, cookies: ["a=1", "b=2"] }).end("x".repeat(5_000));`),
  binary: streaming("start().end(Buffer.from([0, 255, 254]));"),
  endless: streaming(`start(); ${endless}`),
  "bad-status": streaming(`start({ statusCode: "none" }); ${endless}`),
  silent: streaming(silent),
  limited: streaming(silent),
  stuck: streaming(silent),
  late: streaming(`tell("begun"); await gate(); ${silent}`),
  "late-type": streaming(
    `start().write("text"); try { stream.setContentType("text/plain"); } finally { stream.end(); }`,
  ),
  "fail-early": streaming(`throw new RangeError("too far");`),
  "fail-late": streaming(`start().write("first"); throw new RangeError("too far");`),
  "fail-full": streaming(
    `start(); for (let n = 0; n < 20; n++) stream.write(Buffer.alloc(50_000)); throw new RangeError("too far");`,
  ),
  "fail-after": streaming(`start(); stream.end(); await gate(); throw new RangeError("too far");`),
  "never-started": streaming("stream.end();"),
  // The runtime's own `end` writes past the prelude.
  "end-with-chunk": streaming(`awslambda.HttpResponseStream.from(stream, { statusCode: 200 }); stream.end("text");`),
  "never-ended": streaming(`start().write("first");`),
  "too-long": streaming(`start(); for (let n = 0; n < 5; n++) stream.write(Buffer.alloc(${streamedBytes / 4}));`),
  "long-head": streaming(
    `start({ statusCode: 200, headers: { a: "x".repeat(event.bytes ?? 16_384) } }); stream.end();`,
  ),
  "no-object": streaming("start([]); stream.end();"),
  headless: streaming(`stream.once("close", () => tell("closed")); stream.write("x"); await gate(); stream.end();`),
  buffered: "export const handler = async () => ({ statusCode: 200 });",
});
let lambda: Lambda;
let gateway: ApiGateway;

beforeAll(async () => {
  const settingsOf = (name: string) => (name === "stuck" ? { timeoutInMilliseconds: 500 } : {});
  lambda = await start({ settingsOf, limits: { streamedBytes } });
  const routes = Object.fromEntries([...lambda.names].map((name) => [`GET /${name}`, streamed(name)]));
  const limited = served("limited", { responseTransferMode: "STREAM", timeoutInMillis: 2_000 });
  const document = restApi({ ...routes, "GET /limited": limited }, { "minimum-compression-size": 0 });
  gateway = await startApiGateway({ lambda, document });
});

afterAll(() => gateway.close());

async function responseOf(name: string): Promise<IncomingMessage> {
  const [response] = await once(get(`${gateway.url}/${name}`, { agent: false }), "response");
  return response;
}

async function bodyOf(name: string): Promise<Readable> {
  const invocation = await lambda.stream(name, {});
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.body;
}

describe("A streamed response", () => {
  it("has its head before its first byte, and arrives as it is written", async () => {
    const [first, last] = [built.newGate(), built.newGate];
    const response = await fetch(`${gateway.url}/slow`);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const end = last();
    first();

    expect([response.status, response.headers.get("x-kind")]).toEqual([201, "list"]);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await reader?.read()).toEqual({ done: false, value: "first " });
    end();
    expect(await reader?.read()).toEqual({ done: false, value: "last" });
    expect((await reader?.read())?.done).toBe(true);
  });

  it("can set several cookies, and is not compressed", async () => {
    const { headers, text } = await send(gateway.url, "/cookies", { headers: { "Accept-Encoding": "gzip" } });

    expect(headers["set-cookie"]).toEqual(["a=1", "b=2"]);
    expect([headers["content-encoding"], text]).toEqual([undefined, "x".repeat(5_000)]);
  });

  it("is written no faster than the client reads, and ends when the client disconnects", async () => {
    const response = await responseOf("endless");
    response.pause();
    // What is on the way fills the buffers; a function that did not wait would never stop.
    for (let written = -1; written !== built.seen().length; await sleep(300)) written = built.seen().length;

    response.destroy();

    await expect.poll(() => built.seen().at(-1)).toBe("closed");
  });

  it("ends when the client disconnects, also while its function does not write, which is not logged", async () => {
    const release = built.newGate();
    const response = await responseOf("silent");

    response.destroy();

    await expect.poll(() => built.seen()).toEqual(["closed"]);
    release();
    expect(await lambda.stream("silent", {})).toHaveProperty("head");
    expect(logged()).toBe("");
  });

  it("ends when the client disconnects before its head", async () => {
    const release = built.newGate();
    const client = get(`${gateway.url}/late`, { agent: false }).on("error", () => {});
    await expect.poll(() => built.seen()).toEqual(["begun"]);

    client.destroy();
    built.newGate();
    release();

    await expect.poll(() => built.seen()).toEqual(["begun", "closed"]);
  });
});

describe("A streaming function that fails", () => {
  it.each([
    { name: "fail-late", reason: "too far" },
    // API Gateway's time is over, not the function's.
    { name: "limited", reason: "" },
  ])("after its head breaks the response: $name", async ({ name, reason }) => {
    built.newGate();
    await lambda.provision(name, 1);

    const response = await fetch(`${gateway.url}/${name}`);

    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    expect(logged()).toContain(reason);
  });

  it.each([
    { name: "fail-full", reason: "too far", expected: 1_000_000 },
    { name: "never-ended", reason: "Response stream is not finished.", expected: 5 },
    { name: "stuck", reason: "Task timed out after 0.50 seconds", expected: 0 },
  ])(
    "after its head has delivered what it wrote before, and ends its body with the reason: $name",
    async ({ name, reason, expected }) => {
      built.newGate();
      const body = await bodyOf(name);

      let bytes = 0;
      const read = body.forEach((chunk) => {
        bytes += chunk.length;
      });

      await expect(read).rejects.toThrow(reason);
      expect(bytes).toBe(expected);
    },
  );

  it("by writing more than Lambda allows ends its body with the reason", async () => {
    const reason = `maximum allowed payload size (${streamedBytes} bytes)`;

    await expect(buffer(await bodyOf("too-long"))).rejects.toThrow(reason);
  });

  it.each([
    { name: "fail-after", message: "too far" },
    { name: "late-type", message: "Cannot set content-type, too late." },
  ])("is logged although its response is whole: $name", async ({ name, message }) => {
    const release = built.newGate();

    expect((await send(gateway.url, `/${name}`)).status).toBe(200);
    release();

    await expect.poll(() => logged()).toContain(message);
  });

  it.each([
    { name: "fail-early", status: 504 },
    { name: "never-started", status: 504 },
    { name: "end-with-chunk", status: 504 },
    { name: "no-object", status: 504 },
    { name: "buffered", status: 504 },
    { name: "long-head", status: 504 },
    { name: "headless", status: 504 },
    { name: "bad-status", status: 502 },
  ])("before a proper head of at most 16 KB is an error, and its stream ends: $name", async ({ name, status }) => {
    const release = built.newGate();

    expect(await send(gateway.url, `/${name}`)).toMatchObject({ status });

    expect(logged()).not.toBe("");
    if (["headless", "bad-status"].includes(name)) await expect.poll(() => built.seen().at(-1)).toBe("closed");
    release();
    expect(await lambda.stream("long-head", { bytes: 16_000 })).toHaveProperty("head");
  });
});

describe("A streaming function that is invoked without streaming", () => {
  it.each([
    {
      name: "cookies",
      invocation: { result: { cookies: ["a=1", "b=2"], body: "x".repeat(5_000), isBase64Encoded: false } },
    },
    { name: "binary", invocation: { result: { statusCode: 200, body: "AP/+", isBase64Encoded: true } } },
    { name: "fail-late", invocation: { error: { errorType: "RangeError" } } },
  ])(
    "is collected into a REST result, in base64 where it is not text, or fails: $name",
    async ({ name, invocation }) => {
      expect(await lambda.invoke(name, {})).toMatchObject(invocation);
    },
  );
});
