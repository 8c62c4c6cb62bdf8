import { spawnSync } from "node:child_process";
import { matchesGlob } from "node:path";
import { messageOf, newCommand, runCommand, UsageError } from "../command/command.ts";
import { print } from "../command/print.ts";
import { placeholdersIn } from "../settings/placeholders.ts";
import { settings, settingsFile } from "../settings/settings.ts";
import { emptyEdge } from "./empty-edge.ts";
import { untriedParameter } from "./untried.ts";

const command = newCommand("npm run deploy")
  .description(
    "Packages all functions, runs cdk deploy with these words, and empties the edges of these stages, also when the " +
      "deployment failed. npx cdk deploy --help shows its flags.",
  )
  .argument("[stack...]", "stacks, with the CDK's wildcards; or --all")
  .option(
    "--untried",
    "release versions of functions without a trial, for a release that is the cure while the database does not " +
      "respond; the edges keep what they have",
  )
  .allowUnknownOption();

/** The stages that these words name, with the wildcards of the CDK. */
const stagesIn = (words: readonly string[]) =>
  settings.stages.filter(({ name }) => words.some((word) => word === "--all" || matchesGlob(`colophon-${name}`, word)));

const run = (program: string, ...args: readonly string[]): number => {
  const { status, error } = spawnSync(program, args, { stdio: "inherit" });
  if (error) throw error;
  return status ?? 1;
};

async function deploy(words: readonly string[], isUntried: boolean): Promise<void> {
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
}

await runCommand(command.action(async (words, { untried = false }) => deploy(words, untried)));
