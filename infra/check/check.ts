import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { cachedFolder } from "../build/cached-folder.ts";
import { runCommand } from "../command/command.ts";
import { print } from "../command/print.ts";

const root = join(import.meta.dirname, "../..");

interface Part {
  /** A file of this project, or of a package, and its arguments. */
  readonly command: readonly [file: string, ...args: string[]];
  /** What it reads beside this folder and the installed packages: while that stays the same, it is not run again. */
  readonly inputs: readonly string[];
}

const service = ["functions", "lib", "infra", "events", "tsconfig.json"];
const project = [...service, "test", "package.json", "vitest.config.ts"];

/** The longest first. */
const parts: Readonly<Record<string, Part>> = {
  "SQL in PostgreSQL": {
    command: ["infra/check/database.ts"],
    inputs: ["functions", "lib", "events", "infra/aws-local", "infra/build", "infra/local", "tsconfig.json"],
  },
  types: {
    command: [
      "typescript/bin/tsc",
      // The next run looks at what has changed.
      ...["--incremental", "--tsBuildInfoFile", "node_modules/.cache/types.json"],
      // Several check some types twice, and other parts run beside this one.
      ...["--checkers", "1"],
    ],
    inputs: project,
  },
  "lint and format": {
    command: ["@biomejs/biome/bin/biome", "check", "."],
    inputs: [...project, "biome.json", "cdk.json", "knip.json"],
  },
  "dead code": { command: ["knip/bin/knip.js"], inputs: [...project, "knip.json"] },
  endpoints: { command: ["infra/endpoint/complete.ts"], inputs: [...service, "test/functions"] },
  SQL: { command: ["infra/check/sql.ts"], inputs: ["lib"] },
  "API document": { command: ["@redocly/cli/bin/cli.js", "lint"], inputs: ["lib/client", "redocly.yaml"] },
  "package-lock.json": { command: ["infra/check/lock-file.ts"], inputs: [] },
};

/** Runs a part. Returns its output if it fails. */
function failureOf({ command: [file, ...args] }: Part): Promise<string | undefined> {
  const script = join(root, file.endsWith(".ts") ? "" : "node_modules", file);
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], { cwd: root, maxBuffer: Infinity }, (error, stdout, stderr) =>
      resolve(error ? `${stdout}${stderr}`.trim() || error.message : undefined),
    );
  });
}

/** Runs a part, unless it has passed with the same files, and prints what came of it. Returns whether it passes. */
async function passes(name: string, part: Part): Promise<boolean> {
  const startedAt = performance.now();
  let outcome = "unchanged";
  let failure: string | undefined;
  const inputs = [...part.inputs, "infra/check", "package-lock.json"];
  await cachedFolder(`checked-${name.replaceAll(/[ .]/g, "-")}`, inputs, async (folder) => {
    failure = await failureOf(part);
    if (failure !== undefined) throw new Error(failure);
    outcome = secondsSince(startedAt);
    await mkdir(folder, { recursive: true });
  }).catch((error: Error) => {
    failure = error.message;
  });
  print(name.padEnd(20) + (failure === undefined ? outcome : `failed\n\n${failure}\n`));
  return failure === undefined;
}

const secondsSince = (startedAt: number) => `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;

/**
 * Checks all parts, as many at once as there are processors.
 * @throws with the names of those that fail
 */
export async function checkAll(parts: Readonly<Record<string, Part>>): Promise<void> {
  const startedAt = performance.now();
  const failed: string[] = [];
  const waiting = Object.entries(parts).values();
  const work = async () => {
    for (const [name, part] of waiting) if (!(await passes(name, part))) failed.push(name);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  if (failed.length > 0) throw new Error(`Check failed: ${failed.join(", ")}`);
  print(`All is well, after ${secondsSince(startedAt)}`);
}

const usage =
  "npm run check\n  checks what has changed since it last passed, and shows what each part finds and how long it takes";

if (import.meta.main) await runCommand({ usage }, () => checkAll(parts));
