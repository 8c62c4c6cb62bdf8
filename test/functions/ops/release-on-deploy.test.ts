import { json } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { invokeApi } from "../../../infra/aws-local/lambda/invoke-api.ts";
import { type Lambda, startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { buffered, streaming, writeFunctions } from "../../../infra/aws-local/test/functions.ts";
import { functionName } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { type Api, serveApis } from "../../support/aws-apis.ts";
import { key } from "../../support/environment.ts";
import { makeLambdaApi } from "../../support/lambda-api.ts";
import { type Reply, useStack } from "../../support/stack.ts";
import { unchanged } from "../../support/unchanged.ts";

const answering = (status: number, body: object, headers: object = {}) =>
  buffered(`return ${JSON.stringify({ statusCode: status, headers, body: JSON.stringify(body) })};`);

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
  "ops/tidy": answering(200, {}),
};

const stack = useStack({ from: "demo", signIn: [] });
const lambdaApi = makeLambdaApi();
/** What CloudFormation was sent. */
const outcomes: object[] = [];
let broken: Awaited<ReturnType<typeof writeFunctions>>;
let versions: Map<string, Lambda>;
let apis: Awaited<ReturnType<typeof serveApis>>;

beforeAll(async () => {
  broken = await writeFunctions(sources);
  versions = new Map([
    ["2", stack.lambda],
    ["3", await startLambda(broken)],
  ]);
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
async function deploy(Release: string, OldRelease?: string): Promise<string> {
  const Functions = [...lambdaApi.functions.keys()];
  const invocation = await stack.lambda.invoke("ops-release-on-deploy", {
    ...names,
    RequestType: OldRelease === undefined ? "Create" : "Update",
    ResponseURL: `${apis.url}/outcome`,
    ResourceProperties: { Release, Functions },
    ...(OldRelease && { OldResourceProperties: { Release: OldRelease, Functions } }),
  });
  return "error" in invocation ? JSON.stringify(invocation.error) : "";
}

const succeeded = (Data: object) => [{ ...names, Status: "SUCCESS", PhysicalResourceId: "release", Data }];

describe("ops-release-on-deploy", () => {
  it("publishes a version of every function, tries each, and changes nothing", async () => {
    const all = endpoints.map(functionName);
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
    const all = [...Object.keys(sources), "sessions"].map(namesOf);
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
      "ops-tidy: ops-tidy serves no endpoint",
      "sessions: sessions serves no endpoint",
    ])
      expect(error.replaceAll('\\\\\\"', '\\\\"')).toContain(problem);
    expect(error).not.toContain("publisher-random");
    expect(outcomes).toMatchObject([{ Status: "FAILED", Reason: expect.stringContaining("admin-roles-add: 200 ") }]);
    for (const name of all) expect(lambdaApi.functions.get(name)?.versions).toEqual([versionOf(2, former)]);
    // It waits for a database that resumes; what reads gets a token of no user, and what writes gets none.
    const seen = broken.seen().map((each) => JSON.stringify(each).replace(/[0-9a-f-]{36}/, "ID"));
    expect(seen.filter((each) => each === '"asked"')).toHaveLength(2);
    expect([...new Set(seen)].sort()).toEqual(['"asked"', '"refreshToken=ID"', '{"Content-Type":"application/json"}']);
  }, 60_000);

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
