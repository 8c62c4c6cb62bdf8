import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

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

const deploy = (words: readonly string[], variables: NodeJS.ProcessEnv = {}) => {
  const env = { ...process.env, ...variables, PATH: `${directory}${delimiter}${process.env.PATH}` };
  const { stdout, status } = spawnSync(process.execPath, ["infra/operate/deploy.ts", ...words], {
    env,
    encoding: "utf8",
  });
  return { calls: stdout.trim().split("\n"), status };
};

it("packages, hands its words to the CDK, and ends as that does", () => {
  expect(deploy(["--exclusively", "colophon-prod"])).toEqual({
    calls: ["npm run package", "cdk deploy --exclusively colophon-prod"],
    status: 3,
  });
});

it("is urgent with --urgent", () => {
  expect(deploy(["--urgent", "colophon-prod"]).calls[1]).toBe("cdk deploy --context urgent=true colophon-prod");
});

it("deploys nothing if the functions cannot be packaged", () => {
  expect(deploy(["colophon-prod"], { FAIL: "4" })).toEqual({ calls: ["npm run package"], status: 4 });
});

it("helps before it packages", () => {
  const { calls, status } = deploy(["--help"]);

  expect({ first: calls[0], status }).toEqual({ first: "npm run deploy -- [--urgent] STACK …", status: 0 });
});
