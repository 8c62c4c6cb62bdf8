import { LambdaClient, UpdateAliasCommand } from "@aws-sdk/client-lambda";
import { contractions } from "../../lib/migrations/contractions.ts";
import { messageOf, newCommand, runCommand } from "../command/command.ts";
import { print } from "../command/print.ts";
import { settings } from "../settings/settings.ts";
import { emptyEdge } from "./empty-edge.ts";
import { aliasName, releasedFunctions } from "./released-functions.ts";
import { describe, planRollback } from "./rollback-plan.ts";
import { stageNamed } from "./stage.ts";

export const command = newCommand("npm run rollback")
  .description("Points the alias of every function to the release before, and empties the edge.")
  .requiredOption("--stage <name>", "a deployed stage")
  .option("--to <release>", "another release, by its name")
  .option("--dry-run", "show what it would do");

export interface Rollback {
  readonly stage: string;
  /** Default: the release before. */
  readonly to?: string | undefined;
  readonly isDryRun: boolean;
  readonly print: (line: string) => void;
}

/**
 * Points all functions of a stage to one release, and empties the edge. When some cannot be moved, it moves the others
 * and throws; the same again moves what is left.
 */
export async function rollback({ stage, to, isDryRun, print }: Rollback): Promise<void> {
  stageNamed(stage);
  const { region } = settings.account;
  // Lambda takes fifteen of these calls a second.
  const lambda = new LambdaClient({ region, maxAttempts: 10, retryMode: "adaptive" });

  const functions = await releasedFunctions(lambda, stage);
  const { from, to: target, applied, steps } = planRollback(functions, { to, contractions });
  print(`Stage ${stage} runs release ${describe(from)}`);
  print(`${isDryRun ? "It would go" : "It goes"} to release ${describe(target)}`);
  const failed: string[] = [];
  for (const { name, live, version } of steps) {
    try {
      const update = { FunctionName: name, Name: aliasName, FunctionVersion: `${version}` };
      const stays = version === undefined || version === live;
      if (!stays && !isDryRun) await lambda.send(new UpdateAliasCommand(update));
      const reason = version === live ? "already" : "since it is newer than that release";
      print(stays ? `${name}: stays at ${live}, ${reason}` : `${name}: ${live} -> ${version}`);
    } catch (error) {
      failed.push(name);
      print(`${name}: failed: ${messageOf(error)}`);
    }
  }
  if (!isDryRun) await emptyEdge(stage, print);
  if (failed.length > 0) throw new Error(`${failed.length} of ${steps.length} functions have not moved: run it again`);
  if (applied !== target.migration)
    print(`Migrations stay: the database has ${applied}, and this release was made for ${target.migration}.`);
  print(
    `A deployment of ${from.release} would change nothing: CloudFormation does not know that the aliases have moved.`,
  );
  print(`Go forward by npm run rollback -- --stage ${stage} --to ${from.release}`);
}

if (import.meta.main) {
  await runCommand(
    command.action(async ({ stage, to, dryRun: isDryRun = false }) => rollback({ stage, to, isDryRun, print })),
  );
}
