import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ApiGateway, startApiGateway } from "../../../infra/aws-local/api-gateway/server.ts";
import { invokeApi } from "../../../infra/aws-local/lambda/invoke-api.ts";
import { startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { restApi } from "../../../infra/aws-local/test/rest-api.ts";
import { functionPaths } from "../../../infra/command/event.ts";
import { writeCredentials } from "../../../infra/local/credentials.ts";
import { type Invocation, invoke } from "../../../infra/operate/invoke.ts";
import { deployedFunction, stageNamed } from "../../../infra/operate/stage.ts";
import { type Api, serveApis } from "../../support/aws-apis.ts";
import { key } from "../../support/environment.ts";
import { makeLambdaApi } from "../../support/lambda-api.ts";
import { runScript } from "../../support/script.ts";
import { echo, writeFunctions } from "../local/fixtures.ts";

const told = "export const handler = async (event) => { tell(event); return event; };";
const failing = "export const handler = async () => { throw new RangeError('too far'); };";

let built: Awaited<ReturnType<typeof writeFunctions>>;
let gateway: ApiGateway;
const lambdaApi = makeLambdaApi();

/** Lambda's result for a function that streams: head, eight NULs, body. */
const streamed = `{"statusCode":200,"headers":{"X-Kind":"list"}}${"\0".repeat(8)}[{"id":1}]`;

const streamList: Api = ({ url = "" }, response) => {
  const isList = url.includes("colophon-prod-contributors-list/invocations");
  if (isList) response.end(streamed);
  return isList;
};

beforeAll(async () => {
  built = await writeFunctions({
    "admin-roles/list": echo,
    "ops/tidy": told,
    "ops/remove-images": failing,
    "colophon-prod-ops/tidy": failing,
    "colophon-prod-ops/list-changes": told,
    "colophon-dev-ops/create-user": told,
    "colophon-prod-admin-roles/list": "export const handler = async () => ({ statusCode: 200, body: 'newest' });",
  });
  const live = await writeFunctions({
    "colophon-prod-admin-roles/list": "export const handler = async () => ({ statusCode: 200, body: 'live' });",
    "colophon-prod-ops/tidy": told,
  });
  const lambda = await startLambda(built);
  const functions = invokeApi(lambda, key, new Map([["live", await startLambda(live)]]));
  const apis = await serveApis(["LAMBDA"], [streamList, lambdaApi.result, functions]);
  gateway = await startApiGateway({ document: restApi({}), lambda, pages: [invokeApi(lambda, key)] });
  await writeCredentials(built.outdir, key);
  await writeFile(join(built.outdir, "payload.json"), '{"days":3}');
  lambdaApi.functions.set("colophon-prod-contributors-list", { versions: [], live: { FunctionVersion: "7" } });
  return async () => {
    for (const { close } of [apis, gateway]) await close();
    for (const { remove } of [live, built]) await remove();
  };
});

beforeEach(() => built.forget());

const locally = (name: string, given: Partial<Invocation> = {}) =>
  invoke({ name, url: gateway.url, data: built.outdir, ...given });

/** `npm run invoke --` with these words. */
const run = (words: string[], env: NodeJS.ProcessEnv = {}) => runScript("infra/operate/invoke.ts", words, { env });

describe("npm run invoke", () => {
  const where = () => ["--url", gateway.url, "--data", built.outdir];

  it("sends a payload and prints the result", async () => {
    const words = ["ops/tidy", join(built.outdir, "payload.json"), ...where()];
    expect(await run(words)).toMatchObject({ code: 0, output: '{\n  "days": 3\n}\n' });
  });

  it.each(["admin-roles-list", "admin-roles/list"])("sends the sample of %s, and unfolds the body", async (name) => {
    expect(await locally(name)).toMatchObject({
      result: { statusCode: 200, body: { resource: "/admin-roles", headers: { Cookie: /local-administrator/ } } },
      hasFailed: false,
    });
  });

  it("sends the token of a variable, with the sample or a whole event", async () => {
    process.env.INVOKE_TOKEN = "a-token";
    const event = '{"resource": "/admin-roles", "httpMethod": "GET", "headers": {}, "requestContext": {}}';

    for (const payload of [undefined, event]) {
      const { result } = await locally("admin-roles/list", { payload, tokenSource: "INVOKE_TOKEN" });
      expect(result).toMatchObject({ body: { resource: "/admin-roles", headers: { Cookie: "refreshToken=a-token" } } });
    }
  });

  it("fails when the function does", async () => {
    const words = ["ops/remove-images", ...where()];

    expect(await run(words)).toEqual({ code: 1, output: "", complaint: "RangeError: too far\n" });
    const output = expect.stringMatching(/^{\n {2}"errorType": "RangeError",\n {2}"errorMessage": "too far"/);
    expect(await run([...words, "--json"])).toMatchObject({ code: 1, output });
  });

  it("would send the sample of every function", async () => {
    const [url, data] = ["http://127.0.0.1:9", built.outdir];
    const message = `Nothing listens on ${url}: is npm start running?`;
    for (const name of functionPaths) await expect(invoke({ name, url, data }), name).rejects.toThrow(message);
  });

  const bothMissing = /^Invalid payload: username: .* received undefined; days: .* received undefined$/;
  const otherEvent = '{"resource": "/publishers", "httpMethod": "GET", "requestContext": {}}';
  interface Mistake {
    readonly what: string;
    readonly name: string;
    readonly input: Partial<Invocation>;
    readonly reason: string | RegExp;
  }
  it.each<Mistake>([
    {
      what: "an unknown name, with all names",
      name: "ops-nothing",
      input: {},
      reason: "There is no function ops-nothing. There are:\n  admin-contributors/add\n",
    },
    {
      what: "a misspelt name, with the one that may be meant",
      name: "ops-import-",
      input: {},
      reason: "There is no function ops-import-; did you mean ops-import?",
    },
    { what: "all missing fields", name: "ops/issue-refresh-token", input: { payload: "{}" }, reason: bothMissing },
    {
      what: "invalid and unknown fields",
      name: "ops/import",
      input: { payload: '{"source": "", "z": 1}' },
      reason: /source: Too small: .*; Unrecognized key: "z"/,
    },
    {
      what: "an event of another endpoint",
      name: "admin-roles/list",
      input: { payload: otherEvent },
      reason: "no event of admin-roles/list, which serves GET /admin-roles",
    },
    {
      what: "a directory without credentials",
      name: "ops/tidy",
      input: { data: "nowhere" },
      reason: "There are no credentials in nowhere: is npm start running?",
    },
    {
      what: "a token for an operators' function",
      name: "ops/tidy",
      input: { tokenSource: "TOKEN" },
      reason: "--token-from is for endpoints",
    },
    {
      what: "a stage beside the local service",
      name: "ops/tidy",
      input: { stage: "prod" },
      reason: "--url and --data are for the local service",
    },
    {
      what: "an unknown stage",
      name: "ops/tidy",
      input: { stage: "beta", url: undefined, data: undefined },
      reason: "There is no stage beta in infra/stages.example.ts",
    },
  ])("names $what, and sends nothing", async ({ name, input, reason }) => {
    await expect(locally(name, input)).rejects.toThrow(reason);
    expect(built.seen()).toEqual([]);
  });
});

describe("npm run invoke -- --stage", () => {
  it("invokes the version that gets the traffic", async () => {
    expect((await invoke({ name: "admin-roles/list", stage: "prod" })).result).toMatchObject({ body: "live" });
  });

  it("reads the response of a function that streams", async () => {
    expect((await invoke({ name: "contributors/list", stage: "prod" })).result).toEqual({
      statusCode: 200,
      headers: { "X-Kind": "list" },
      body: [{ id: 1 }],
    });
  });

  it("asks before a protected stage is changed", async () => {
    const tidying: Invocation = { name: "ops/tidy", payload: '{"days": 400}', stage: "prod" };

    await expect(invoke(tidying)).rejects.toThrow(/^Nothing was invoked: .*:colophon-prod-ops-tidy changes something/);
    expect(built.seen()).toEqual([]);

    expect(await invoke({ ...tidying, yes: true })).toEqual({ result: { days: 400 }, hasFailed: false });
    expect(await invoke({ name: "ops/list-changes", payload: "{}", stage: "prod" })).toMatchObject({ result: {} });
    expect(await invoke({ name: "ops/create-user", stage: "dev" })).toMatchObject({ result: { username: "ada" } });
  });

  it("finds functions of the stage's database under its name", () => {
    const stage = { ...stageNamed("prod"), name: "beta", isProtected: false };

    const ofStage = { name: "colophon-beta-ops-tidy", log: "/colophon/beta/functions", isProtected: false };
    const log = "/colophon/prod-database/functions";
    const ofDatabase = { name: "colophon-prod-ops-create-user", log, isProtected: true };
    expect(deployedFunction(stage, "ops/tidy")).toEqual(ofStage);
    expect(deployedFunction(stage, "ops/create-user")).toEqual(ofDatabase);
  });

  it("says in a line that there are no credentials", async () => {
    const nothing = { AWS_ACCESS_KEY_ID: "", AWS_EC2_METADATA_DISABLED: "true", HOME: built.outdir, AWS_PROFILE: "" };
    const complaint = expect.stringMatching(/^There are no credentials for AWS; set AWS_PROFILE, or sign in: .*\n$/);

    expect(await run(["publishers/list", "--stage", "dev"], nothing)).toMatchObject({ code: 1, complaint });
  });
});
