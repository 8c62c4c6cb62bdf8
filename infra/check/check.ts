import { execFile } from "node:child_process";
import { join } from "node:path";
import { runCommand } from "../command.ts";

const root = join(import.meta.dirname, "../..");

/** The command of each part. */
const parts = {
  types: ["typescript/bin/tsc", "--noEmit"],
  "types of the panel": ["typescript/bin/tsc", "--noEmit", "--project", "test/browser/panel"],
  "lint and format": ["@biomejs/biome/bin/biome", "check", "."],
  "dead code": ["knip/bin/knip.js"],
  "API document": ["@redocly/cli/bin/cli.js", "lint"],
  endpoints: ["infra/endpoint/complete.ts"],
  "package-lock.json": ["infra/check/lock-file.ts"],
  SQL: ["infra/check/sql.ts"],
} as const;

/** Runs a part. Returns what it says if it fails. */
function failureOf([file, ...words]: readonly string[]): Promise<string | undefined> {
  const script = join(root, file?.endsWith(".ts") ? "" : "node_modules", file ?? "");
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...words], { cwd: root, maxBuffer: Infinity }, (error, stdout, stderr) =>
      resolve(error ? `${stdout}${stderr}`.trim() || error.message : undefined),
    );
  });
}

const usage = "npm run check\n  runs all checks at the same time, and shows what each of them finds";

await runCommand({ usage }, async () => {
  const failures = await Promise.all(
    Object.entries(parts).map(async ([name, command]) => {
      const failure = await failureOf(command);
      if (failure !== undefined) console.error(`${name}\n\n${failure}\n`);
      return failure === undefined ? [] : [name];
    }),
  );
  if (failures.flat().length > 0) throw new Error(`Check failed: ${failures.flat().join(", ")}`);
});
