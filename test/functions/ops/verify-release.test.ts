import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { invokeApi } from "../../../infra/aws-local/lambda/invoke-api.ts";
import { type Lambda, startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { buffered, streaming, writeFunctions } from "../../../infra/aws-local/test/functions.ts";
import { functionName } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { serveApis } from "../../support/aws-apis.ts";
import { appSpecOf, makeCodeDeploy } from "../../support/codedeploy.ts";
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
  "publisher/publications": answering(200, []),
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
const codeDeploy = makeCodeDeploy();
let broken: Awaited<ReturnType<typeof writeFunctions>>;
let versions: Map<string, Lambda>;
let apis: Awaited<ReturnType<typeof serveApis>>;

beforeAll(async () => {
  broken = await writeFunctions(sources);
  versions = new Map([
    ["2", stack.lambda],
    ["3", await startLambda(broken)],
    ["10", stack.lambda],
  ]);
  const invoke = invokeApi(stack.lambda, key, versions);
  apis = await serveApis(["CODEDEPLOY", "LAMBDA"], [codeDeploy.answer, lambdaApi.answer, invoke]);
  for (const name of stack.lambda.names) {
    const all = Array.from({ length: 3 }, (_, index) => ({
      Version: `${index + 1}`,
      Description: "",
      LastModified: "",
    }));
    lambdaApi.functions.set(name, { versions: all, live: { FunctionVersion: "1" } });
  }
});

afterAll(async () => {
  await apis.close();
  await versions.get("3")?.close();
  await broken.remove();
});

let logged: ReturnType<typeof vi.spyOn>;

beforeEach(() => {
  codeDeploy.reports.length = 0;
  lambdaApi.changes.length = 0;
  logged = vi.spyOn(console, "log").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
});

let hooks = 0;

/** CodeDeploy moves the traffic of a function. Returns what the hook reported. */
async function release(name: string, target: string, current = "1", appSpec = appSpecOf(name, current, target)) {
  hooks += 1;
  const DeploymentId = `d-${hooks}`;
  codeDeploy.deployments.set(DeploymentId, { applicationName: "colophon", status: "InProgress", appSpec });
  const event = { DeploymentId, LifecycleEventHookExecutionId: `hook-${hooks}` };
  await stack.lambda.invoke("ops-verify-release", event);
  const reports = codeDeploy.reports
    .filter((each) => each.endsWith(` ${DeploymentId}`))
    .map((each) => each.split(" ")[0]);
  return { event, id: DeploymentId, reports };
}

/** Why the hook failed a release, by its only line in the log. */
async function reasonOf(id: string): Promise<string> {
  // Lines of functions come by way of their threads.
  const ownLines = () =>
    logged.mock.calls
      .map(([line]: unknown[]) => JSON.parse(`${line}`))
      .filter(({ deploymentId }: { deploymentId?: string }) => deploymentId === id);
  await expect.poll(ownLines).toMatchObject([{ endpoint: "ops-verify-release", level: "error", status: "Failed" }]);
  return ownLines()[0].error.message;
}

describe("ops-verify-release", () => {
  it("lets every function of a good release through, and changes nothing", async () => {
    const failed: string[] = [];

    await unchanged(stack, async () => {
      for (const name of endpoints.map(functionName)) {
        const { reports } = await release(name, "2");
        if (reports.join() !== "Succeeded") failed.push(name);
      }
      return { status: 401 } as Reply;
    });

    expect(failed).toEqual([]);
    expect(lambdaApi.changes).toEqual([]);
    // It loads every function there is.
  }, 120_000);

  it.each([
    ["contributors/list", "cannot be loaded", "no such table of contents"],
    ["contributor/works", "streams half an answer", "Unhandled: "],
    ["contributor/slug", "answers 500", '500 {"data":"Internal server error","code":500}'],
    ["publisher/slug", "answers another record", "not as declared: "],
    ["publisher/publications", "answers another list", "not as declared: "],
    ["publishers/list", "answers nothing", "No response for API Gateway: null"],
    ["admin-users/list", "shows users to everybody", "200 "],
    ["admin-roles/add", "lets everybody add roles", "200 "],
    ["ops/tidy", "serves no endpoint", "ops-tidy serves no endpoint"],
  ])("fails a version of %s that %s, and says so", async (path, _, message) => {
    const { id, reports } = await release(path.replaceAll("/", "-"), "3");

    expect(reports).toEqual(["Failed"]);
    expect(await reasonOf(id)).toContain(message);
  });

  it("sends a token that nobody has to what reads, and none to what writes", async () => {
    broken.forget();

    await release("admin-roles-list", "3");
    await release("admin-roles-edit", "3");

    expect(broken.seen()).toEqual([
      expect.stringMatching(/^refreshToken=[0-9a-f-]{36}$/),
      { "Content-Type": "application/json" },
    ]);
  });

  it("waits for a database that resumes", async () => {
    broken.forget();

    const { reports } = await release("publisher-random", "3");

    expect(reports).toEqual(["Succeeded"]);
    expect(broken.seen()).toEqual(["asked", "asked"]);
  });

  it.each([
    ["no version", appSpecOf("session", "1", "$LATEST"), "TargetVersion"],
    ["no JSON", "version: 0.0", "JSON"],
    ["two functions", `{"Resources":[{},{}]}`, "Resources"],
    ["a version that is not there", appSpecOf("session", "1", "9"), "Function not found: session:9"],
  ])("fails a deployment of %s", async (_, appSpec, message) => {
    const { id, reports } = await release("session", "9", "1", appSpec);

    expect(reports).toEqual(["Failed"]);
    expect(await reasonOf(id)).toContain(message);
  });

  it("lets a release go back to an older version without a trial", async () => {
    const { reports } = await release("contributors-list", "3", "4");

    expect(reports).toEqual(["Succeeded"]);
  });

  it("ends well when it is run again after CodeDeploy was told", async () => {
    const { event } = await release("session", "2");

    expect(await stack.lambda.invoke("ops-verify-release", event)).toEqual({ result: { status: "Succeeded" } });
    expect(codeDeploy.reports).toHaveLength(1);
  });

  it("then deletes versions but the last six, and those in use", async () => {
    const all = Array.from({ length: 10 }, (_, index) => ({
      Version: `${index + 1}`,
      Description: "",
      LastModified: "",
    }));
    const live = { FunctionVersion: "2", RoutingConfig: { AdditionalVersionWeights: { 4: 0.1 } } };
    lambdaApi.functions.set("session", { versions: all, live });

    await release("session", "10", "2");

    expect(lambdaApi.changes).toEqual(["DeleteFunction session 1", "DeleteFunction session 3"]);
  });
});
