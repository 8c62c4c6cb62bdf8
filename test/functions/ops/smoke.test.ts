import { createServer } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { listenToClients } from "../../../infra/aws-local/http/listen.ts";
import { smokeRequests } from "../../../infra/smoke/requests.ts";
import { useStack } from "../../support/stack.ts";

/** Stands for CloudFront in front of the stack: it keeps each response for good, and is told how old they are. */
let edge: Awaited<ReturnType<typeof listenToClients>>;
const kept = new Map<string, { status: number; cacheControl: string; body: string }>();
let age = 0;
let isCutOff = false;

const stack = useStack({ from: "demo", variables: () => ({ EDGE_URL: edge.url }) });

beforeAll(async () => {
  const server = createServer(async ({ url = "" }, response) => {
    const old = kept.get(url);
    if (!old && isCutOff) return response.writeHead(504).end("<html>");
    const { status, cacheControl, body } = old ?? (await fetched(url));
    response.writeHead(status, { "Cache-Control": cacheControl, ...(old && { Age: age }) }).end(body);
  });
  edge = await listenToClients(server);
});

async function fetched(url: string) {
  const response = await fetch(stack.url + url);
  const cacheControl = response.headers.get("Cache-Control") ?? "";
  const result = { status: response.status, cacheControl, body: await response.text() };
  kept.set(url, result);
  return result;
}

afterAll(() => edge.close());

beforeEach(() => {
  kept.clear();
  age = 0;
  isCutOff = false;
});

const smoke = (payload: object) => stack.lambda.invoke("ops-smoke", payload);
const errorOf = async (requests: readonly object[]) => {
  const invocation = await smoke({ requests });
  return "error" in invocation ? invocation.error.errorMessage : undefined;
};

describe("ops-smoke", () => {
  const slugs = (slug: string) =>
    smokeRequests("public", slug).filter(({ endpoint }) => endpoint === "contributor/slug");

  it("sends public requests, and two through the edge, and returns the longest duration and the edge's age", async () => {
    const requests = smokeRequests("public");
    const result = { requests: requests.length + 2, slowestInMilliseconds: expect.any(Number), edgeAgeInSeconds: 0 };

    expect(await smoke({ requests })).toEqual({ result });
    age = 42;
    expect(await smoke({ requests })).toEqual({ result: { ...result, edgeAgeInSeconds: 42 } });

    expect(requests.length).toBeGreaterThanOrEqual(8);
    const [cached, ...uncached] = kept.keys();
    expect(cached).toBe("/publishers?limit=1");
    expect(uncached).toEqual(Array(2).fill(expect.stringMatching(/^\/publishers\?limit=1&search=[0-9a-f-]{36}$/)));
  });

  it("fails when a response is not as declared, and names it", async () => {
    stack.dataApi.intercept(({ sql }) =>
      sql?.includes("publishers") ? { kind: "error", status: 400, type: "BadRequestException" } : undefined,
    );

    const error = await errorOf(smokeRequests("public"));

    stack.dataApi.intercept(undefined);
    expect(error).toContain("GET /publishers?order=name-asc&limit=20: 500 ");
    expect(error).not.toContain("GET /contributors");
  });

  it.each([
    ["has", "naoki-urasawa", undefined],
    ["has not", "nobody", expect.stringMatching(/^GET \/contributor\/slug\/nobody: 404 /)],
  ])("asks for the contributor whom the database must have: it %s", async (_, slug, error) => {
    expect(await errorOf(slugs(slug))).toEqual(error);
  });

  it("finds fault with a response that is older than the response itself allows", async () => {
    const requests = slugs("naoki-urasawa");
    await smoke({ requests });
    const { cacheControl = "" } = kept.get("/publishers?limit=1") ?? {};
    const [, shared, revalidation] = /s-maxage=(\d+), stale-while-revalidate=(\d+)/.exec(cacheControl) ?? [];
    const ageMax = Number(shared) + Number(revalidation);

    age = ageMax;
    expect(await errorOf(requests)).toBeUndefined();
    age = ageMax + 1;
    expect(await errorOf(requests)).toBe(
      `GET /publishers?limit=1: ${age} s old, of at most ${ageMax} s (through the edge)`,
    );
  });

  it("finds that the edge cannot reach the API, although visitors get old responses", async () => {
    const requests = slugs("naoki-urasawa");
    await smoke({ requests });
    isCutOff = true;

    expect(await errorOf(requests)).toMatch(/^GET \/publishers\?limit=1&search=\S+: 504 <html> \(through the edge\)$/);
  });

  it.each([
    [{}, "Invalid payload: requests"],
    [{ requests: [] }, "Invalid payload: requests"],
    [{ requests: [{ endpoint: "publishers/list", target: "//example.com" }] }, "Invalid payload: requests"],
    [{ requests: [{ endpoint: "admin-roles/add", target: "/publishers" }] }, "There is no GET admin-roles/add"],
    [{ requests: [{ endpoint: "nothing/list", target: "/publishers" }] }, "There is no GET nothing/list"],
  ])("fails for the payload %j, which asks for more than what only shows something", async (payload, message) => {
    expect(await smoke(payload)).toMatchObject({ error: { errorMessage: expect.stringContaining(message) } });
  });
});
