import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ from: "demo" });

/** Stands for CloudFront in front of the stack: it keeps each response for good, and is told how old they are. */
let edge: Server;
let kept: Map<string, { status: number; type: string; cacheControl: string; body: string }>;
let forwarded: string[];
let age: string | undefined;
let isCutOff: boolean;

beforeAll(async () => {
  edge = createServer(async ({ url = "" }, response) => {
    const old = kept.get(url);
    if (!old && isCutOff) return response.writeHead(504).end("<html>");
    if (!old) forwarded.push(url);
    const result = old ?? (await fetched(url));
    kept.set(url, result);
    response.writeHead(result.status, {
      "Content-Type": result.type,
      "Cache-Control": result.cacheControl,
      ...(old && age !== undefined ? { Age: age } : {}),
    });
    response.end(result.body);
  });
  await new Promise<void>((resolve) => edge.listen(0, "127.0.0.1", resolve));
  process.env.EDGE_URL = `http://127.0.0.1:${(edge.address() as AddressInfo).port}`;
});

async function fetched(url: string) {
  const result = await fetch(stack.url + url);
  const type = result.headers.get("Content-Type") ?? "";
  const cacheControl = result.headers.get("Cache-Control") ?? "";
  return { status: result.status, type, cacheControl, body: await result.text() };
}

afterAll(async () => {
  delete process.env.EDGE_URL;
  await new Promise((resolve) => edge.close(resolve));
});

beforeEach(() => {
  kept = new Map();
  forwarded = [];
  age = undefined;
  isCutOff = false;
});

const requests = [{ endpoint: "contributor/slug", target: "/contributor/slug/naoki-urasawa" }];
const smoke = () => stack.lambda.invoke("ops-smoke", { requests });
const problemOf = async () => {
  const invocation = await smoke();
  return "error" in invocation ? invocation.error.errorMessage : undefined;
};

describe("ops-smoke on a stage with an edge", () => {
  it("asks one URL through the edge, and past its cache each time, and tells the age", async () => {
    expect(await smoke()).toEqual({
      result: { requests: 3, slowestInMilliseconds: expect.any(Number), edgeAgeInSeconds: 0 },
    });
    age = "42";
    expect(await smoke()).toMatchObject({ result: { edgeAgeInSeconds: 42 } });

    const [cached, ...uncached] = forwarded;
    expect(cached).toBe("/publishers?limit=1");
    expect(uncached).toHaveLength(2);
    for (const each of uncached) expect(each).toMatch(/^\/publishers\?limit=1&search=[0-9a-f-]{36}$/);
    expect(uncached[0]).not.toBe(uncached[1]);
  });

  it("finds fault with a response that is older than the response itself allows", async () => {
    await smoke();
    const [lifetime, revalidation] = [/(?:s-maxage|max-age)=(\d+)/g, /stale-while-revalidate=(\d+)/g].map((each) => {
      const found = [...(kept.get("/publishers?limit=1")?.cacheControl ?? "").matchAll(each)];
      return Number(found.at(-1)?.[1]);
    }) as [number, number];

    age = `${lifetime + revalidation}`;
    expect(await problemOf()).toBeUndefined();
    age = `${lifetime + revalidation + 1}`;
    expect(await problemOf()).toBe(
      `GET /publishers?limit=1: ${age} s old, of at most ${lifetime + revalidation} s (through the edge)`,
    );
  });

  it("finds that the edge cannot reach the API, although visitors get old responses", async () => {
    await smoke();
    isCutOff = true;

    expect(await problemOf()).toMatch(/^GET \/publishers\?limit=1&search=\S+: 504 <html> \(through the edge\)$/);
  });
});
