import { spawnSync } from "node:child_process";
import { matchesGlob } from "node:path";
import { messageOf, runCommand, UsageError } from "../command/command.ts";
import { print } from "../command/print.ts";
import { placeholdersIn } from "../settings/placeholders.ts";
import { settings, settingsFile } from "../settings/settings.ts";
import { emptyEdge } from "./empty-edge.ts";
import { untriedParameter } from "./untried.ts";

const usage =
  "npm run deploy -- STACK … [--untried]\n" +
  "  packages all functions, runs cdk deploy with these words, and empties the edges of these stages, also when the\n" +
  "  deployment failed; npx cdk deploy --help shows its flags\n" +
  "  --untried  releases versions of functions without a trial, for a release that is the cure while the database does\n" +
  "             not respond; the edges keep what they have";

/** The stages that these words name, with the wildcards of the CDK. */
const stagesIn = (words: readonly string[]) =>
  settings.stages.filter(({ name }) => words.some((word) => word === "--all" || matchesGlob(`colophon-${name}`, word)));

const run = (program: string, ...args: readonly string[]): number => {
  const { status, error } = spawnSync(program, args, { stdio: "inherit" });
  if (error) throw error;
  return status ?? 1;
};

await runCommand({ usage, passesOn: true }, async (_, given) => {
  const words = given.filter((word) => word !== "--untried");
  const isUntried = words.length < given.length;
  if (words.length === 0) throw new UsageError("STACK is missing");
  const placeholders = placeholdersIn(settings);
  if (placeholders.length > 0)
    throw new Error(
      `Replace the placeholders in ${settingsFile} by values of your own:\n  ${placeholders.join("\n  ")}`,
    );
  process.exitCode = run("npm", "run", "package");
  if (process.exitCode !== 0) return;
  const stages = stagesIn(words);
  const untried = stages.flatMap(({ name }) => ["--parameters", `colophon-${name}:${untriedParameter}=true`]);
  // A parameter is for one deployment.
  process.exitCode = run("cdk", "deploy", "--no-previous-parameters", ...words, ...(isUntried ? untried : []));
  for (const { name } of stages.filter(({ edge }) => edge)) {
    if (isUntried) {
      print(
        `The edge of stage ${name} keeps what it has: npm run empty-edge -- --stage ${name} when the database responds`,
      );
      continue;
    }
    await emptyEdge(name, print).catch((error) => {
      print(`The edge of stage ${name} is not empty: ${messageOf(error)}`, process.stderr);
      process.exitCode ||= 1;
    });
  }
});
