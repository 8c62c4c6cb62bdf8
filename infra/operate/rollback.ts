import { LambdaClient, UpdateAliasCommand } from "@aws-sdk/client-lambda";
import { contractions } from "../../lib/migrations/contractions.ts";
import { messageOf, runCommand, UsageError } from "../command/command.ts";
import { print } from "../command/print.ts";
import { settings } from "../stages.ts";
import { emptyEdge } from "./empty-edge.ts";
import { aliasName, releasedFunctions } from "./released-functions.ts";
import { describe, type Plan, planRollback, type Step } from "./rollback-plan.ts";
import { stageNamed } from "./stage.ts";

const usage =
  "npm run rollback -- --stage NAME [--to RELEASE] [--dry-run]\n" +
  "  points the alias of every function to the release before, and empties the edge\n" +
  "  --to       another release, by its name\n" +
  "  --dry-run  shows what it would do";

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

  const released = await releasedFunctions(lambda, stage);
  if (released.length === 0) throw new Error(`No function of stage ${stage} has an alias: deploy it first`);
  const plan = planRollback(released, { to, contractions });
  print(`Stage ${stage} runs release ${describe(plan.from)}`);
  print(`${isDryRun ? "It would go" : "It goes"} to release ${describe(plan.to)}`);
  try {
    await move(lambda, plan, isDryRun, print);
  } finally {
    if (!isDryRun) await emptyEdge(stage, print);
  }
  for (const line of outlook(plan, stage)) print(line);
}

async function move(lambda: LambdaClient, { steps }: Plan, isDryRun: boolean, print: Rollback["print"]): Promise<void> {
  const failed: string[] = [];
  for (const step of steps) {
    const { name } = step.function;
    try {
      const update = { FunctionName: name, Name: aliasName, FunctionVersion: `${step.version}` };
      if (!isDryRun && !step.isDone) await lambda.send(new UpdateAliasCommand(update));
      print(lineOf(step));
    } catch (error) {
      failed.push(name);
      print(`${name}: failed: ${messageOf(error)}`);
    }
  }
  if (failed.length > 0) throw new Error(`${failed.length} of ${steps.length} functions have not moved: run it again`);
}

function lineOf({ function: { name, live }, version, isDone }: Step): string {
  if (version === undefined) return `${name}: stays at ${live}, since it is newer than that release`;
  if (isDone) return `${name}: is at ${live} already`;
  return `${name}: ${live} -> ${version}`;
}

/** What operators should know afterwards. */
function outlook({ from, to, applied }: Plan, stage: string): string[] {
  const again = `npm run rollback -- --stage ${stage}`;
  return [
    "",
    `The next deployment of another release moves every function to it. A deployment of ${from.name} changes nothing,`,
    `since CloudFormation knows of no change; this does: ${again} --to ${from.name}`,
    `Run without --to once more, it goes back another release.`,
    ...(applied === to.migration
      ? []
      : [`Migrations stay: the database has ${applied}, and this release was made for ${to.migration}.`]),
  ];
}

const flags = { stage: { type: "string" }, to: { type: "string" }, "dry-run": { type: "boolean" } } as const;

export const syntax = { usage, flags };

if (import.meta.main) {
  await runCommand(syntax, async ({ stage, to, "dry-run": isDryRun = false }) => {
    if (stage === undefined) throw new UsageError("--stage is missing");
    await rollback({ stage, to, isDryRun, print });
  });
}
