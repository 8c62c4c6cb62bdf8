import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { gatewayResponses } from "../../../../infra/api/gateway-responses.ts";
import { type Gateway, startGateway } from "../../../../infra/aws-local/api-gateway/server.ts";
import { startLambda } from "../../../../infra/aws-local/lambda/lambda.ts";
import { declare } from "../../../../lib/contract/declare.ts";
import { send, streaming, writeFunctions } from "../fixtures.ts";

const list = (path: `/${string}`) =>
  declare({ summary: "", method: "GET", path, answers: { list: "Work" }, errors: {} });
const names = [
  "slow",
  "late",
  "silent",
  "fail-early",
  "fail-late",
  "fail-cleanly",
  "bad-status",
  "cookies",
  "endless",
  "buffered",
];

let built: Awaited<ReturnType<typeof writeFunctions>>;
let gateway: Gateway;

beforeAll(async () => {
  built = await writeFunctions({
    "slow/list": streaming(`
      start({ statusCode: 201, headers: { "X-Kind": "list" } }).write("first");
      await gate();
      stream.end();`),
    "late/list": streaming(`tell("begun"); await gate(); start().write("first"); stream.end();`),
    "silent/list": streaming("start(); await gate(); stream.end();"),
    "fail-early/list": streaming(`throw new Error("secret");`),
    "fail-late/list": streaming(`start().write('{"works":['); await gate(); throw new Error("secret");`),
    "fail-cleanly/list": streaming(`
      start().write('{"works":[');
      await gate();
      stream.destroy(new Error("secret"));
      throw new Error("secret");`),
    "bad-status/list": streaming(`start({ statusCode: "none" }).write("first"); await gate(); stream.end();`),
    "cookies/list": streaming(`start({ statusCode: 200, cookies: ["a=1", "b=2"] }); stream.end();`),
    "endless/list": `import { once } from "node:events";${streaming(`
      start();
      try {
        for (;;) {
          tell("chunk");
          if (!stream.write(Buffer.alloc(65_536))) await once(stream, "drain");
        }
      } finally {
        tell("end");
      }`)}`,
    "buffered/list": "export const handler = async () => ({ statusCode: 200, body: '[]' });",
  });
  const lambda = await startLambda(built);
  const endpoints = names.map((name) => list(`/${name}`));
  gateway = await startGateway({ lambda, endpoints, allowedOrigins: [], uploads: false });
});

afterAll(async () => {
  await gateway.close();
  await built.remove();
});

beforeEach(() => {
  built.forget();
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("a streamed answer", () => {
  it("arrives as it is written", async () => {
    const release = built.newGate();

    const response = await fetch(`${gateway.url}/slow`);
    const reader = response.body?.getReader();
    const first = await reader?.read();

    expect(response.status).toBe(201);
    expect(response.headers.get("x-kind")).toBe("list");
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(Buffer.from(first?.value ?? []).toString()).toBe("first");
    release();
    expect((await reader?.read())?.done).toBe(true);
  });

  it("has a head before its first byte", async () => {
    const release = built.newGate();

    const response = await fetch(`${gateway.url}/silent`);

    expect(response.status).toBe(200);
    release();
    expect(await response.text()).toBe("");
  });

  it("can set several cookies", async () => {
    expect((await send(gateway.url, "/cookies")).headers["set-cookie"]).toEqual(["a=1", "b=2"]);
  });

  it.each(["fail-late", "fail-cleanly"])("breaks when its function fails after the first byte: %s", async (name) => {
    const release = built.newGate();

    const response = await fetch(`${gateway.url}/${name}`);
    const body = response.text();
    release();

    expect(response.status).toBe(200);
    await expect(body).rejects.toThrow();
  });

  it.each([
    ["fail-early", 503, "Service unavailable, try again in a few seconds"],
    ["buffered", 503, "Service unavailable, try again in a few seconds"],
    ["bad-status", 500, "Internal server error"],
  ])("is an error when its function fails before: %s", async (name, code, data) => {
    built.newGate()();

    const { status, json } = await send(gateway.url, `/${name}`);

    expect({ status, json }).toEqual({ status: code, json: { data, code } });
  });

  it("is written no faster than the client reads, and ends when the client disconnects", async () => {
    const client = get(`${gateway.url}/endless`, { agent: false });
    const response = await new Promise<import("node:http").IncomingMessage>((resolve) =>
      client.once("response", resolve),
    );
    response.pause();
    // What is on the way fills the buffers; a function that did not wait would never stop.
    for (let written = -1; written !== built.seen().length; await sleep(300)) written = built.seen().length;

    response.destroy();

    await expect.poll(() => built.seen().at(-1)).toBe("end");
  });

  it("is 503 while all reserved concurrency of its function is in use; other functions answer", async () => {
    const lambda = await startLambda({ ...built, settingsOf: () => ({ reservedConcurrency: 1 }) });
    const endpoints = [list("/slow"), list("/cookies")];
    const local = await startGateway({ lambda, endpoints, allowedOrigins: [], uploads: false });
    const release = built.newGate();
    const running = await fetch(`${local.url}/slow`);

    const { status, message } = gatewayResponses.INTEGRATION_FAILURE;
    const refused = await fetch(`${local.url}/slow`);
    expect(await refused.json()).toEqual({ data: message, code: status });
    expect({ status: refused.status, again: refused.headers.get("Retry-After") }).toEqual({
      status: 503,
      again: expect.stringMatching(/^\d+$/),
    });
    expect((await fetch(`${local.url}/cookies`)).status).toBe(200);

    release();
    expect(await running.text()).toBe("first");
    await expect.poll(async () => (await fetch(`${local.url}/slow`)).status).toBe(201);
    await local.close();
  });

  it("frees its environment when the client disconnects before the first byte", async () => {
    const lambda = await startLambda({ ...built, limits: { environments: 1 } });
    const local = await startGateway({ lambda, endpoints: [list("/late")], allowedOrigins: [], uploads: false });
    const release = built.newGate();
    const client = get(`${local.url}/late`, { agent: false }).on("error", () => {});
    await expect.poll(() => built.seen()).toEqual(["begun"]);
    client.destroy();
    await sleep(50);
    release();

    expect(await (await fetch(`${local.url}/late`, { signal: AbortSignal.timeout(10_000) })).text()).toBe("first");
    await local.close();
  });
});
