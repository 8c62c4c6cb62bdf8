import { type ExecFileException, execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { cachedFolder, compileCache } from "../build/cached-folder.ts";
import { newCommand, runCommand } from "../command/command.ts";
import { print } from "../command/print.ts";

const root = join(import.meta.dirname, "../..");

interface Part {
  /** A file of this project, or of a package, and its arguments. */
  readonly command: readonly [file: string, ...args: string[]];
  /** What it reads beside this folder and the installed packages: while that stays the same, it is not run again. */
  readonly inputs: readonly string[];
  /** What it takes at most on a quiet machine of two processors, beside another part. */
  readonly seconds: number;
}

/** A part may take its time this many times over, since other programs use the machine, too. */
const patience = 40;

const service = ["functions", "lib", "infra", "events", "tsconfig.json"];
const project = [...service, "test", "package.json", "vitest.config.ts"];

/** The longest first. */
const parts: Readonly<Record<string, Part>> = {
  "SQL in PostgreSQL": {
    command: ["infra/check/database.ts"],
    inputs: ["functions", "lib", "events", "infra/aws-local", "infra/build", "infra/local", "tsconfig.json"],
    seconds: 10,
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
    seconds: 8,
  },
  "lint and format": {
    command: ["@biomejs/biome/bin/biome", "check", "."],
    inputs: [...project, "biome.json", "cdk.json", "knip.json"],
    seconds: 3,
  },
  "dead code": { command: ["knip/bin/knip.js"], inputs: [...project, "knip.json"], seconds: 3 },
  endpoints: { command: ["infra/endpoint/complete.ts"], inputs: [...service, "test/functions"], seconds: 2 },
  SQL: { command: ["infra/check/sql.ts"], inputs: ["lib"], seconds: 1 },
  "API document": { command: ["@redocly/cli/bin/cli.js", "lint"], inputs: ["lib/client", "redocly.yaml"], seconds: 2 },
  "package-lock.json": { command: ["infra/check/lock-file.ts"], inputs: [], seconds: 1 },
};

/** Runs a part, unless it has passed with the same files, and prints the outcome. Returns whether it passes. */
async function passes(name: string, { command: [file, ...args], inputs, seconds }: Part): Promise<boolean> {
  const startedAt = performance.now();
  const script = join(root, file.endsWith(".ts") ? "" : "node_modules", file);
  const title = name.padEnd(20);
  let outcome = "unchanged";
  try {
    const all = [...inputs, "infra/check", "package-lock.json"];
    await cachedFolder(`checked-${name.replaceAll(/[ .]/g, "-")}`, all, async (folder) => {
      const timeout = 1_000 * patience * seconds;
      const env = { ...process.env, NODE_COMPILE_CACHE: compileCache() };
      await run(process.execPath, [script, ...args], { cwd: root, env, maxBuffer: Infinity, timeout });
      outcome = inWords(secondsSince(startedAt), seconds);
      await mkdir(folder, { recursive: true });
    });
    print(title + outcome);
    return true;
  } catch (error) {
    const { stdout = "", stderr = "", message, killed } = error as ExecFileException;
    const taken = inWords(secondsSince(startedAt), seconds);
    const limit = `${patience * seconds} s, which it exceeds only if it hangs or the machine is very busy`;
    const end = killed ? `was stopped by its limit of ${limit}` : `failed after ${taken}`;
    print(`${title}${end}\n\n${`${stdout}${stderr}`.trim() || message}\n`);
    return false;
  }
}

const run = promisify(execFile);

const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1_000;

/** How long a part has taken, and what it takes on a quiet machine if that is less. */
const inWords = (taken: number, seconds: number): string =>
  taken <= seconds ? `${taken.toFixed(1)} s` : `${taken.toFixed(1)} s (${seconds} s when the machine is quiet)`;

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
  print(`All is well, after ${secondsSince(startedAt).toFixed(1)} s`);
}

if (import.meta.main) {
  const command = newCommand("npm run check").description(
    "Checks what has changed since it last passed, and shows what each part finds and how long it takes.",
  );
  await runCommand(command.action(() => checkAll(parts)));
}
