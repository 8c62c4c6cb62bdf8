import { execFile, spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Api, serveApis } from "../../support/aws-apis.ts";

/** Holds programs `npm` and `cdk` that print their words; the second one ends with 3. */
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colophon-deploy-"));
  for (const [program, code] of [
    ["npm", 0],
    ["cdk", 3],
  ] as const) {
    await writeFile(join(directory, program), `#!/bin/sh\necho ${program} "$@"\nexit \${FAIL:-${code}}\n`);
    await chmod(join(directory, program), 0o755);
  }
});

afterAll(() => rm(directory, { recursive: true }));

const script = "infra/operate/deploy.ts";
const environment = (variables: NodeJS.ProcessEnv) => ({
  ...process.env,
  ...variables,
  PATH: `${directory}${delimiter}${process.env.PATH}`,
});

const deploy = (words: readonly string[], variables: NodeJS.ProcessEnv = {}) => {
  const env = environment(variables);
  const { stdout, status } = spawnSync(process.execPath, [script, ...words], { env, encoding: "utf8" });
  return { calls: stdout.trim().split("\n"), status };
};

/** While AWS runs in this process. */
const deploying = (words: readonly string[]) =>
  new Promise<{ stdout: string; status: unknown }>((resolve) => {
    execFile(process.execPath, [script, ...words], { env: environment({}) }, (error, stdout) =>
      resolve({ stdout, status: error?.code ?? 0 }),
    );
  });

it("packages, hands its words to the CDK, and ends as that does", () => {
  expect(deploy(["--exclusively", "colophon-dev"])).toEqual({
    calls: ["npm run package", "cdk deploy --exclusively colophon-dev"],
    status: 3,
  });
});

it.each([
  ["colophon-prod", true],
  ["colophon-prod*", true],
  ["--all", true],
  ["colophon-dev*", false],
  ["colophon-prod-database", false],
])("empties the edges of the stages in %s: %s, although the deployment failed", async (word, isEmptied) => {
  const invoked: string[] = [];
  const lambda: Api = (request, response) => {
    invoked.push(`${request.url}`);
    response.end('{"invalidated":["/*"]}');
    return true;
  };
  const { close } = await serveApis(["LAMBDA"], [lambda]);

  const { stdout, status } = await deploying([word]);
  await close();

  expect(status).toBe(3);
  expect(stdout.includes("The edge of stage prod is empty")).toBe(isEmptied);
  expect(invoked.map((each) => /ops-invalidate/.test(each))).toEqual(isEmptied ? [true] : []);
});

it("deploys nothing if the functions cannot be packaged", () => {
  expect(deploy(["colophon-prod"], { FAIL: "4" })).toEqual({ calls: ["npm run package"], status: 4 });
});

it("helps before it packages, and packages nothing without a stack", () => {
  const { calls, status } = deploy(["--help"]);

  expect({ first: calls[0], status }).toEqual({ first: "npm run deploy -- STACK …", status: 0 });
  expect(deploy([])).toEqual({ calls: [""], status: 1 });
});
