import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

/** Holds a program `cdk` that prints its words and ends with 3. */
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colophon-deploy-"));
  await writeFile(join(directory, "cdk"), '#!/bin/sh\nprintf "%s\\n" "$@"\nexit 3\n');
  await chmod(join(directory, "cdk"), 0o755);
});

afterAll(() => rm(directory, { recursive: true }));

const deploy = (...words: string[]) => {
  const env = { ...process.env, PATH: `${directory}${delimiter}${process.env.PATH}` };
  const { stdout, status } = spawnSync(process.execPath, ["infra/operate/deploy.ts", ...words], {
    env,
    encoding: "utf8",
  });
  return { words: stdout.trim().split("\n"), status };
};

it("hands its words to the CDK, and ends as that does", () => {
  expect(deploy("--exclusively", "colophon-prod")).toEqual({
    words: ["deploy", "--exclusively", "colophon-prod"],
    status: 3,
  });
});

it("is urgent with --urgent", () => {
  expect(deploy("--urgent", "colophon-prod").words).toEqual(["deploy", "--context", "urgent=true", "colophon-prod"]);
});
