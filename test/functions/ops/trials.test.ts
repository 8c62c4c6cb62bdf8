import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { listenToClients } from "../../../infra/aws-local/http/listen.ts";
import { invokeApi } from "../../../infra/aws-local/lambda/invoke-api.ts";
import { type Lambda, startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { clusterArn } from "../../../infra/aws-local/secrets-manager/arns.ts";
import { buffered, streaming, writeFunctions } from "../../../infra/aws-local/test/functions.ts";
import { secretArns } from "../../../infra/local/stage/secrets.ts";
import { smokeRequests } from "../../../infra/smoke/requests.ts";
import { functionName } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import type { problemsOf as ProblemsOf } from "../../../lib/operators/check-copy.ts";
import { type Api, serveApis } from "../../support/aws-apis.ts";
import { openDatabase } from "../../support/database.ts";
import { key } from "../../support/environment.ts";
import { makeLambdaApi } from "../../support/lambda-api.ts";
import { createDatabase } from "../../support/own-database.ts";
import { type Reply, useStack } from "../../support/stack.ts";
import { broken as fault, unchanged } from "../../support/unchanged.ts";

/* What tries a stage, a release, and a restored copy of the database. */

/** Stands for CloudFront in front of the stack: it keeps each response for good, and is told how old they are. */
let edge: Awaited<ReturnType<typeof listenToClients>>;
const kept = new Map<string, { status: number; cacheControl: string; body: string }>();
let age = 0;
let isCutOff = false;

const stack = useStack({ from: "demo", signIn: [], variables: () => ({ EDGE_URL: edge.url }) });

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
    stack.dataApi.intercept(({ sql }) => (sql?.includes("publishers") ? fault : undefined));

    const error = await errorOf(smokeRequests("public"));

    expect(error).toContain("GET /publishers?order=name-asc&limit=20: 500 ");
    expect(error).not.toContain("GET /contributors");
  });

  it.each([
    { what: "has", slug: "naoki-urasawa", error: undefined },
    { what: "has not", slug: "nobody", error: expect.stringMatching(/^GET \/contributor\/slug\/nobody: 404 /) },
  ])("asks for the contributor whom the database must have: it $what", async ({ slug, error }) => {
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
    { what: "nothing", payload: {}, message: "Invalid payload: requests" },
    { what: "no request", payload: { requests: [] }, message: "Invalid payload: requests" },
    {
      what: "a request to another host",
      payload: { requests: [{ endpoint: "publishers/list", target: "//example.com" }] },
      message: "Invalid payload: requests",
    },
    {
      what: "a request that changes something",
      payload: { requests: [{ endpoint: "admin-roles/add", target: "/publishers" }] },
      message: "There is no GET admin-roles/add",
    },
    {
      what: "a request to an unknown endpoint",
      payload: { requests: [{ endpoint: "nothing/list", target: "/publishers" }] },
      message: "There is no GET nothing/list",
    },
  ])("fails for $what", async ({ payload, message }) => {
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

  interface Copy {
    readonly template: "blank" | "demo" | "template1";
    /** What is done to it. */
    readonly spoil: string;
  }

  /** What is wrong with a copy. */
  async function problemsWith({ template, spoil }: Copy): Promise<string[]> {
    const copy = await createDatabase(template);
    const sql = openDatabase(`${inject("ownerUrl")}/${copy}`, { max: 1 });
    await sql.query(spoil);
    await sql.end();
    const problems = await problemsOf({
      ...checks,
      copy: { resourceArn: clusterArn, secretArn: secretArns.master, database: copy },
      live: { resourceArn: clusterArn, secretArn: secretArns.operator, database: process.env.DATABASE_NAME },
      deadline: Number.POSITIVE_INFINITY,
    });
    return problems;
  }

  it("finds nothing wrong with a copy of last night", async () => {
    expect(await problemsWith({ template: "demo", spoil: ledgerUpTo(100) })).toEqual([]);
  });

  it.each<Copy & { readonly what: string; readonly problems: readonly (string | RegExp)[] }>([
    {
      what: "one without tables",
      template: "template1",
      spoil: "",
      problems: ["The copy is empty: it has not even tables"],
    },
    {
      what: "an empty one",
      template: "blank",
      spoil: "",
      problems: [
        "The copy has no contributor naoki-urasawa",
        /^The copy has 0 contributors, the live database \d+$/,
        /^The copy has 0 publishers, the live database \d+$/,
        /^The copy has 0 series, the live database \d+$/,
        /^The copy is too old: its ledger ends at 1, and \d+ was written more than 26 hours ago$/,
      ],
    },
    {
      what: "one of another database, which lacks half the rows",
      template: "demo",
      spoil: `${ledgerUpTo(100)}
      set colophon.recording = off;
      update contributors set slug = 'somebody-else', external_id = null where slug = 'naoki-urasawa';
      delete from publishers where id % 2 = 0`,
      problems: ["The copy has no contributor naoki-urasawa", /^The copy has \d+ publishers, the live database \d+$/],
    },
    {
      what: "one whose ledger was changed",
      template: "demo",
      spoil: `${ledgerUpTo(100)} update changes set endpoint = 'ops/migrate' where id = 50`,
      problems: [/^The ledger differs before its change \d+$/],
    },
  ])("finds what is wrong with $what", async ({ template, spoil, problems }) => {
    const found = await problemsWith({ template, spoil });

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

const answering = (status: number, body: object) =>
  buffered(`return ${JSON.stringify({ statusCode: status, headers: {}, body: JSON.stringify(body) })};`);

/** Version 3 of some functions, each broken in its own way. */
const sources = {
  "contributors/list": "throw new Error('no such table of contents');",
  "contributor/works": streaming(`start().write('{"volumes":'); stream.destroy(new Error("cut"));`),
  "contributor/slug": answering(500, { data: "Internal server error", code: 500 }),
  "publisher/slug": answering(200, { id: 7 }),
  "publishers/list": buffered("return null;"),
  "admin-users/list": answering(200, { users: [], max: 0, from: 0, to: 0 }),
  "admin-roles/add": answering(200, { data: "Role added", code: 200 }),
  "publisher/random": buffered(`
    tell("asked");
    return globalThis.isReady
      ? { statusCode: 200, headers: {}, body: '"kodansha"' }
      : (globalThis.isReady = true, { statusCode: 503, headers: { "Retry-After": "1" }, body: "{}" });`),
  "admin-roles/list": buffered("tell(event.headers.Cookie); return null;"),
  "admin-roles/edit": buffered("tell(event.headers); return null;"),
  "contributor/random": buffered('return { statusCode: 503, headers: { "Retry-After": "3600" }, body: "{}" };'),
  "ops/invalidate-images": buffered('throw Object.assign(new Error("No response in time"), { name: "Unavailable" });'),
  "ops/tidy": buffered("throw new Error('It was invoked');"),
  "ops/undo": buffered("throw new Error('no such ledger');"),
};

/** Those of which a trial learns only that the database does not respond. */
const silent = ["contributor/random", "ops/invalidate-images"];

describe("ops-release-on-deploy", () => {
  const lambdaApi = makeLambdaApi();
  /** What CloudFormation was sent. */
  const outcomes: object[] = [];
  let broken: Awaited<ReturnType<typeof writeFunctions>>;
  let versions: Map<string, Lambda>;
  let apis: Awaited<ReturnType<typeof serveApis>>;

  beforeAll(async () => {
    broken = await writeFunctions(sources);
    versions = new Map(Object.entries({ 2: stack.lambda, 3: await startLambda(broken) }));
    const cloudFormation: Api = async (request, response) => {
      if (request.method !== "PUT" || request.url !== "/outcome") return false;
      outcomes.push((await json(request)) as object);
      response.end();
      return true;
    };
    const invoke = invokeApi(stack.lambda, key, versions);
    apis = await serveApis(["LAMBDA"], [cloudFormation, lambdaApi.result, invoke]);
  });

  afterAll(async () => {
    await apis.close();
    await versions.get("3")?.close();
    await broken.remove();
  });

  beforeEach(() => {
    broken.forget();
    lambdaApi.functions.clear();
    lambdaApi.changes.length = 0;
    outcomes.length = 0;
  });

  const [former, release] = ["aaaaaaaaaaaa", "bbbbbbbbbbbb"] as const;
  const describedAs = (name: string) => `Does something (release ${name}, migration 11)`;
  const versionOf = (number: number, name: string) => ({
    Version: `${number}`,
    Description: describedAs(name),
    LastModified: "",
  });

  /** A function whose newest code is the release's; the version of the former release is live. */
  const deployed = (live: number, ...later: ReturnType<typeof versionOf>[]) => ({
    description: describedAs(release),
    versions: [versionOf(live, former), ...later],
    live: { FunctionVersion: `${live}` },
  });

  const namesOf = (path: string) => path.replaceAll("/", "-");
  const names = { StackId: "arn:stack", RequestId: "request", LogicalResourceId: "ReleaseVersions" };

  /** CloudFormation updates the stage to a release. Returns the error of the function, which has all that is wrong. */
  async function deploy(Release: string, OldRelease?: string, parameters: object = {}): Promise<string> {
    const Functions = [...lambdaApi.functions.keys()];
    const invocation = await stack.lambda.invoke("ops-release-on-deploy", {
      ...names,
      RequestType: OldRelease === undefined ? "Create" : "Update",
      ResponseURL: `${apis.url}/outcome`,
      ResourceProperties: { Release, Functions, ...parameters },
      ...(OldRelease && { OldResourceProperties: { Release: OldRelease, Functions } }),
    });
    return "error" in invocation ? JSON.stringify(invocation.error) : "";
  }

  const succeeded = (Data: object) => [{ ...names, Status: "SUCCESS", PhysicalResourceId: "release", Data }];

  it("publishes a version of every function, tries each, and changes nothing", async () => {
    const all = [...endpoints.map(functionName), "ops-invalidate-images", "ops-tidy", "ops-undo"];
    for (const name of all) lambdaApi.functions.set(name, deployed(1));

    await unchanged(stack, async () => {
      expect(await deploy(release, former)).toBe("");
      return { status: 401 } as Reply;
    });

    expect(outcomes).toEqual(succeeded(Object.fromEntries(all.map((name) => [name, "2"]))));
    expect(lambdaApi.changes.toSorted()).toEqual(all.map((name) => `PublishVersion ${name} 2`).sort());
    // It loads every function there is.
  }, 120_000);

  it("fails a release if one version does not respond as declared, says why, and keeps none of its versions", async () => {
    const all = [...Object.keys(sources).filter((each) => !silent.includes(each)), "sessions"].map(namesOf);
    for (const name of all) lambdaApi.functions.set(name, deployed(2));

    const error = await deploy(release, former);

    for (const problem of [
      "contributors-list: Unhandled: ",
      "no such table of contents",
      "contributor-works: Unhandled: ",
      'contributor-slug: 500 {\\"data',
      "publisher-slug: not as declared: ",
      "publishers-list: No response for API Gateway: null",
      "admin-users-list: 200 ",
      "admin-roles-add: 200 ",
      "ops-undo: Unhandled: ",
      "no such ledger",
      "sessions: sessions serves no endpoint",
    ])
      expect(error.replaceAll('\\\\\\"', '\\\\"')).toContain(problem);
    expect(error).not.toContain("publisher-random");
    // It has no sample that changes nothing.
    expect(error).not.toContain("It was invoked");
    expect(outcomes).toMatchObject([{ Status: "FAILED", Reason: expect.stringContaining("admin-roles-add: 200 ") }]);
    for (const name of all) expect(lambdaApi.functions.get(name)?.versions).toEqual([versionOf(2, former)]);
    // It waits for a database that resumes; what reads gets a token of no user, and what writes gets none.
    const seen = broken.seen().map((each) => JSON.stringify(each).replace(/[0-9a-f-]{36}/, "ID"));
    expect(seen.filter((each) => each === '"asked"')).toHaveLength(2);
    expect([...new Set(seen)].sort()).toEqual(['"asked"', '"refreshToken=ID"', '{"Content-Type":"application/json"}']);
  }, 60_000);

  it("says that the database does not respond if that is all that trials learn, and keeps no version", async () => {
    for (const name of silent.map(namesOf)) lambdaApi.functions.set(name, deployed(2));
    lambdaApi.functions.set("admin-roles-list", deployed(2));

    const error = await deploy(release, former);

    expect(error).toContain(
      "The database does not respond, so 2 versions could not be tried, contributor-random among them",
    );
    expect(error).toContain("deploy it with --untried");
    for (const { versions } of lambdaApi.functions.values()) expect(versions).toEqual([versionOf(2, former)]);
  }, 30_000);

  it("publishes without a trial while the database does not respond, if that is requested", async () => {
    lambdaApi.functions.set("contributors-list", deployed(2));

    expect(await deploy(release, former, { Untried: "true" })).toBe("");
    expect(outcomes).toEqual(succeeded({ "contributors-list": "3" }));
  });

  it("goes back to the former release without a trial, when CloudFormation takes a deployment back", async () => {
    lambdaApi.functions.set("contributors-list", { ...deployed(3), description: describedAs(former) });
    expect(await deploy(former, release)).toBe("");

    // The failed release was not deleted, since the function had crashed.
    lambdaApi.functions.set("contributors-list", deployed(3, versionOf(4, release)));
    expect(await deploy(former, release)).toBe("");

    expect(outcomes).toEqual([...succeeded({ "contributors-list": "3" }), ...succeeded({ "contributors-list": "3" })]);
    expect(lambdaApi.changes).toEqual([]);
  });

  it("tries what an invocation has published that crashed", async () => {
    lambdaApi.functions.set("contributors-list", deployed(2, versionOf(3, release)));

    expect(await deploy(release, former)).toContain("no such table of contents");
    expect(lambdaApi.changes).toEqual(["DeleteFunction contributors-list 3"]);
  }, 30_000);

  it("tries a new function until it fails the release, and keeps no version of it", async () => {
    lambdaApi.functions.set("contributors-list", { ...deployed(2), versions: [versionOf(2, "x")], live: undefined });

    expect(await deploy(release, former)).toContain("no such table of contents");
    expect(lambdaApi.changes).toEqual(["PublishVersion contributors-list 3", "DeleteFunction contributors-list 3"]);
  }, 30_000);

  it("publishes again when Lambda refuses for a moment, as when a role is new", async () => {
    lambdaApi.functions.set("session", deployed(1));
    lambdaApi.failures.set("session", { status: 403, type: "AccessDeniedException" });

    expect(await deploy(release)).toBe("");
    expect(outcomes).toEqual(succeeded({ session: "2" }));
  }, 30_000);

  it("then deletes versions but the last six, and those in use", async () => {
    const all = Array.from({ length: 8 }, (_, index) => versionOf(index + 4, former));
    lambdaApi.functions.set("session", { versions: [versionOf(2, release), ...all], live: { FunctionVersion: "5" } });

    expect(await deploy(release, former)).toBe("");

    expect(lambdaApi.changes).toEqual(["DeleteFunction session 4"]);
  });

  it("leaves all versions when the stack is deleted", async () => {
    const { ResourceProperties: _, ...event } = { ...names, ResourceProperties: {}, RequestType: "Delete" };

    await stack.lambda.invoke("ops-release-on-deploy", { ...event, ResponseURL: `${apis.url}/outcome` });

    expect(outcomes).toEqual(succeeded({}));
  });
});
