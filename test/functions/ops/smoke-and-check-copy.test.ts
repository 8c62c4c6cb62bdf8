import { createServer } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { listenToClients } from "../../../infra/aws-local/http/listen.ts";
import { clusterArn } from "../../../infra/aws-local/secrets-manager/arns.ts";
import { secretArns } from "../../../infra/local/stage/secrets.ts";
import { smokeRequests } from "../../../infra/smoke/requests.ts";
import type { problemsOf as ProblemsOf } from "../../../lib/operators/check-copy.ts";
import { openDatabase } from "../../support/database.ts";
import { createDatabase } from "../../support/own-database.ts";
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

describe("ops-check-copy", () => {
  let problemsOf: typeof ProblemsOf;
  const checks = { knownContributor: "naoki-urasawa", hours: 26 };
  const begun = new Date().toISOString();
  /** Makes the ledger of the last 120 hours, one change in each, up to this one. */
  const ledgerUpTo = (last: number) => `
    delete from changes;
    insert into changes (id, at, key, request_id, endpoint)
    overriding system value
    select id, timestamptz '${begun}' - (120 - id) * interval '1 hour', id, 'a', 'ops/tidy'
    from generate_series(1, ${last}) as id;
  `;

  beforeAll(async () => {
    await stack.sql.query(ledgerUpTo(120));
    // Of another file's import the client would call that file's Data API.
    vi.resetModules();
    ({ problemsOf } = await import("../../../lib/operators/check-copy.ts"));
  });

  /** What is wrong with a copy of a template, which is then spoilt. */
  async function problemsWith(template: Parameters<typeof createDatabase>[0], spoil: string): Promise<string[]> {
    const copy = await createDatabase(template);
    const sql = openDatabase(`${inject("ownerUrl")}/${copy.name}`, { max: 1 });
    await sql.query(spoil);
    await sql.end();
    const problems = await problemsOf({
      ...checks,
      copy: { resourceArn: clusterArn, secretArn: secretArns.master, database: copy.name },
      live: { resourceArn: clusterArn, secretArn: secretArns.operator, database: process.env.DATABASE_NAME },
      deadline: Number.POSITIVE_INFINITY,
    });
    await copy.remove();
    return problems;
  }

  it.each<[string, ...Parameters<typeof problemsWith>, (string | RegExp)[]]>([
    ["of last night", "demo", ledgerUpTo(100), []],
    ["without tables", "template1", "", ["The copy is empty: it has not even tables"]],
    [
      "that is empty",
      "blank",
      "",
      [
        "The copy has no contributor naoki-urasawa",
        /^The copy has 0 contributors, the live database \d+$/,
        /^The copy has 0 publishers, the live database \d+$/,
        /^The copy has 0 series, the live database \d+$/,
        /^The copy is too old: its ledger ends at 1, and \d+ was written more than 26 hours ago$/,
      ],
    ],
    [
      "of another database, which lacks half the rows",
      "demo",
      `${ledgerUpTo(100)}
      set colophon.recording = off;
      update contributors set slug = 'somebody-else' where slug = 'naoki-urasawa';
      delete from publishers where id % 2 = 0`,
      ["The copy has no contributor naoki-urasawa", /^The copy has \d+ publishers, the live database \d+$/],
    ],
    [
      "whose ledger somebody has changed",
      "demo",
      `${ledgerUpTo(100)} update changes set endpoint = 'ops/migrate' where id = 50`,
      [/^The ledger differs before its change \d+$/],
    ],
  ])("tells what is wrong with one %s", async (_, template, spoil, problems) => {
    const found = await problemsWith(template, spoil);

    expect(found).toEqual(problems.map((each) => (typeof each === "string" ? each : expect.stringMatching(each))));
  });

  it("compares no cluster but one that was restored for a test", async () => {
    const payload = { ...checks, secret: secretArns.master, knownContributor: "nobody" };
    const invoke = (cluster: string) => stack.lambda.invoke("ops-check-copy", { ...payload, cluster });

    const restored = await invoke(clusterArn.replace(/[^:]*$/, "colophon-prod-database-copy"));

    expect(restored).toEqual({ result: { problems: ["The copy has no contributor nobody"] } });
    const errorMessage = expect.stringContaining("Invalid payload: cluster");
    expect(await invoke(clusterArn)).toMatchObject({ error: { errorMessage } });
  });
});
