import { spawnSync } from "node:child_process";
import { matchesGlob } from "node:path";
import { messageOf, runCommand, UsageError } from "../command/command.ts";
import { print } from "../command/print.ts";
import { placeholdersIn } from "../settings/placeholders.ts";
import { settings, settingsFile } from "../settings/settings.ts";
import { emptyEdge } from "./empty-edge.ts";

const usage =
  "npm run deploy -- STACK …\n" +
  "  packages all functions, runs cdk deploy with these words, and empties the edges of these stages, also when the\n" +
  "  deployment failed; npx cdk deploy --help shows its flags";

/** The stages with an edge that these words name, with the wildcards of the CDK. */
const edgeStages = (words: readonly string[]) =>
  settings.stages.filter(
    ({ edge, name }) => edge && words.some((word) => word === "--all" || matchesGlob(`colophon-${name}`, word)),
  );

const run = (program: string, ...args: readonly string[]): number => {
  const { status, error } = spawnSync(program, args, { stdio: "inherit" });
  if (error) throw error;
  return status ?? 1;
};

await runCommand({ usage, passesOn: true }, async (_, words) => {
  if (words.length === 0) throw new UsageError("STACK is missing");
  const placeholders = placeholdersIn(settings);
  if (placeholders.length > 0)
    throw new Error(
      `Replace the placeholders in ${settingsFile} by values of your own:\n  ${placeholders.join("\n  ")}`,
    );
  process.exitCode = run("npm", "run", "package");
  if (process.exitCode !== 0) return;
  // A parameter is for one deployment.
  process.exitCode = run("cdk", "deploy", "--no-previous-parameters", ...words);
  for (const { name } of edgeStages(words)) {
    await emptyEdge(name, print).catch((error) => {
      print(`The edge of stage ${name} is not empty: ${messageOf(error)}`, process.stderr);
      process.exitCode ||= 1;
    });
  }
});
