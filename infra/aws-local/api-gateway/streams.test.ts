import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { lambdaOf, restApi, served, streamed } from "../test/rest-api.ts";
import { send } from "../test/send.ts";
import { type ApiGateway, startApiGateway } from "./server.ts";

let gate: PromiseWithResolvers<void>;
let endless = { chunks: 0, isOver: false };

async function* slowly(first?: string, failure?: Error) {
  if (first !== undefined) yield first;
  await gate.promise;
  if (failure) throw failure;
}

async function* withoutEnd() {
  try {
    for (; ; endless.chunks += 1) yield Buffer.alloc(65_536);
  } finally {
    endless.isOver = true;
  }
}

const lambda = lambdaOf({
  slow: () => ({ head: { statusCode: 201, headers: { "X-Kind": "list" } }, body: slowly("first") }),
  silent: () => ({ body: slowly() }),
  large: () => ({ body: ["x".repeat(5_000)] }),
  cookies: () => ({ head: { statusCode: 200, cookies: ["a=1", "b=2"] } }),
  "bad-status": () => ({ head: { statusCode: "none" }, body: withoutEnd() }),
  hangs: () => {
    const body = new PassThrough();
    body.write("first");
    return { body };
  },
  fails: () => ({ body: slowly("first", new Error("secret")) }),
  endless: () => ({ body: withoutEnd() }),
  late: async () => {
    await gate.promise;
    return { body: withoutEnd() };
  },
});

let gateway: ApiGateway;

beforeAll(async () => {
  const routes = [...lambda.names].map((name) => [`GET /${name}`, streamed(name)]);
  const limited = served("hangs", { responseTransferMode: "STREAM", timeoutInMillis: 200 });
  const document = restApi(
    { ...Object.fromEntries(routes), "GET /limited": limited },
    { "minimum-compression-size": 0 },
  );
  gateway = await startApiGateway({ lambda, document });
});

afterAll(() => gateway.close());

beforeEach(() => {
  gate = Promise.withResolvers();
  endless = { chunks: 0, isOver: false };
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("A streamed response", () => {
  it("arrives as it is written", async () => {
    const response = await fetch(`${gateway.url}/slow`);
    const reader = response.body?.getReader();
    const first = await reader?.read();

    expect([response.status, response.headers.get("x-kind")]).toEqual([201, "list"]);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(Buffer.from(first?.value ?? []).toString()).toBe("first");
    gate.resolve();
    expect((await reader?.read())?.done).toBe(true);
  });

  it("has a head before its first byte", async () => {
    const response = await fetch(`${gateway.url}/silent`);

    expect(response.status).toBe(200);
    gate.resolve();
    expect(await response.text()).toBe("");
  });

  it("can set several cookies, and is not compressed", async () => {
    expect((await send(gateway.url, "/cookies")).headers["set-cookie"]).toEqual(["a=1", "b=2"]);
    const { headers, text } = await send(gateway.url, "/large", { headers: { "Accept-Encoding": "gzip" } });
    expect([headers["content-encoding"], text]).toEqual([undefined, "x".repeat(5_000)]);
  });

  it.each(["fails", "limited"])(
    "breaks when its function fails or takes too long after the first byte: %s",
    async (name) => {
      const response = await fetch(`${gateway.url}/${name}`);
      const body = response.text();
      if (name === "fails") gate.resolve();

      expect(response.ok).toBe(true);
      await expect(body).rejects.toThrow();
    },
  );

  it("is an error when its head is malformed, and ends the function", async () => {
    expect((await send(gateway.url, "/bad-status")).status).toBe(502);
    expect(endless.chunks).toBeLessThan(10);
  });

  it("is written no faster than the client reads, and ends when the client disconnects", async () => {
    const client = get(`${gateway.url}/endless`, { agent: false });
    const [response] = (await once(client, "response")) as [IncomingMessage];
    response.pause();
    // What is on the way fills the buffers; a function that did not wait would never stop.
    for (let written = -1; written !== endless.chunks; await sleep(300)) written = endless.chunks;

    response.destroy();

    await expect.poll(() => endless.isOver).toBe(true);
  });

  it("ends when the client disconnects before the first byte", async () => {
    const client = get(`${gateway.url}/late`, { agent: false }).on("error", () => {});
    await once(client, "socket");
    await sleep(50);
    client.destroy();
    await sleep(50);
    gate.resolve();

    await sleep(50);
    expect(endless.chunks).toBeLessThan(10);
  });
});
