import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, inject, it } from "vitest";
import { settings } from "../../../infra/settings/settings.ts";
import { type Api, serveApis } from "../../support/aws-apis.ts";
import { runScript } from "../../support/script.ts";

/** Holds programs `npm` and `cdk` that print their words; the second one ends with 3. */
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(inject("cache"), "deploy-"));
  for (const [program, code] of Object.entries({ npm: 0, cdk: 3 })) {
    const script = `#!/bin/sh\necho ${program} "$@"\nexit \${FAIL:-${code}}\n`;
    await writeFile(join(directory, program), script, { mode: 0o755 });
  }
  const own = JSON.stringify(settings)
    .replaceAll("example.com", "colophon.dev")
    .replaceAll("123456789012", "210987654321");
  await writeFile(join(directory, "stages.mjs"), `export default ${own};`);
});

const deploy = (words: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  runScript("infra/operate/deploy.ts", words, {
    env: { STAGES: join(directory, "stages.mjs"), ...env, PATH: `${directory}:${process.env.PATH}` },
  });

it("packages and deploys nothing while the settings have placeholders, and names these", async () => {
  const { code, output, complaint } = await deploy(["colophon-prod"], { STAGES: "infra/stages.example.ts" });

  expect([code, output]).toEqual([1, ""]);
  expect(complaint).toMatch(
    /^Replace the placeholders in infra\/stages\.example\.ts by values of your own:\n {2}account\.id: 123/,
  );
  expect(complaint).toContain("stages.0.imageDomain: images.dev.example.com");
});

it("packages, hands its words to the CDK, and ends as that does", async () => {
  const output = "npm run package\ncdk deploy --no-previous-parameters --exclusively colophon-dev\n";
  expect(await deploy(["--exclusively", "colophon-dev"])).toMatchObject({ code: 3, output });
});

it.each([
  { word: "colophon-prod", what: "is emptied by a deployment of its stage", isEmptied: true },
  { word: "colophon-prod*", what: "is emptied by a deployment of a pattern with its stage", isEmptied: true },
  { word: "--all", what: "is emptied by a deployment of all stages", isEmptied: true },
  { word: "colophon-dev*", what: "stays by a deployment of other stages", isEmptied: false },
  { word: "colophon-prod-database", what: "stays by a deployment of its database", isEmptied: false },
])("The edge of a stage $what, although it failed", async ({ word, isEmptied }) => {
  const invoked: string[] = [];
  const lambda: Api = (request, response) => {
    invoked.push(`${request.url}`);
    response.end('{"invalidated":["/*"]}');
    return true;
  };
  const { close } = await serveApis(["LAMBDA"], [lambda]);

  const { output, code } = await deploy([word]);
  await close();

  expect(code).toBe(3);
  expect(output.includes("The edge of stage prod is empty")).toBe(isEmptied);
  expect(invoked.map((each) => /ops-invalidate/.test(each))).toEqual(isEmptied ? [true] : []);
});

it("releases without a trial by --untried, once, and leaves the edge its copies while the database is down", async () => {
  const { output } = await deploy(["--exclusively", "colophon-prod", "--untried"]);

  expect(output).toBe(
    "npm run package\n" +
      "cdk deploy --no-previous-parameters --exclusively colophon-prod --parameters colophon-prod:Untried=true\n" +
      "The edge of stage prod keeps what it has: npm run empty-edge -- --stage prod when the database responds\n",
  );
});

it("deploys nothing if the functions cannot be packaged", async () => {
  const output = "npm run package\n";
  expect(await deploy(["colophon-prod"], { FAIL: "4" })).toMatchObject({ code: 4, output });
});

it("helps before it packages, and packages nothing without a stack", async () => {
  const output = expect.stringMatching(/^Usage: npm run deploy -- /);
  expect(await deploy(["--help"])).toMatchObject({ code: 0, output });
  expect(await deploy([])).toMatchObject({ code: 1, output: "" });
});
