import { LambdaClient } from "@aws-sdk/client-lambda";
import { SchemasClient } from "@aws-sdk/client-schemas";
import { runCommand, UsageError } from "../command.ts";
import { eventOf, functionPaths } from "../event.ts";
import { confirm } from "../local/confirm.ts";
import { print } from "../print.ts";
import { settings } from "../stages.ts";
import { allFunctions } from "./released-functions.ts";
import { deployedFunction, expectDeployed, stageNamed } from "./stage.ts";
import { publishEvent } from "./test-events.ts";

const usage =
  "npm run events -- publish STAGE [--dry-run] [--yes]\n" +
  "  makes the sample of each function a shareable test event of Lambda's console, named sample\n" +
  "  --dry-run  shows what it would do\n" +
  "  --yes      publishes to a protected stage without asking";

export interface Publication {
  readonly stage: string;
  readonly isDryRun: boolean;
  readonly yes: boolean;
  readonly print: (line: string) => void;
}

/** Publishes the samples of all functions that a stage and its database have. Done twice, it changes nothing. */
export async function publishEvents({ stage: name, isDryRun, yes, print }: Publication): Promise<void> {
  const { region } = settings.account;
  const stage = stageNamed(name);
  if (stage.isProtected && !isDryRun && !yes && !(await confirm(`Publish test events that change stage ${name}?`)))
    throw new Error(`Nothing was published: stage ${name} is protected. Agree by --yes`);
  const schemas = new SchemasClient({ region, maxAttempts: 10, retryMode: "adaptive" });
  const counts = { published: 0, updated: 0, unchanged: 0 };
  for (const { functionName, path } of await deployedFunctions(name, new LambdaClient({ region }))) {
    const outcome = await publishEvent(schemas, functionName, await eventOf(path), isDryRun);
    counts[outcome]++;
    print(`${functionName}: ${isDryRun && outcome !== "unchanged" ? "would be " : ""}${outcome}`);
  }
  print(`${counts.published} published, ${counts.updated} updated, ${counts.unchanged} unchanged`);
}

/** @throws if the stage is not deployed, or the credentials are those of another account */
async function deployedFunctions(stage: string, lambda: LambdaClient) {
  const arns = new Map((await allFunctions(lambda)).map((each) => [each.FunctionName, each.FunctionArn]));
  const found = functionPaths.flatMap((path) => {
    const functionName = deployedFunction(stageNamed(stage), path).name;
    const arn = arns.get(functionName);
    return arn === undefined ? [] : [{ functionName, path, arn }];
  });
  expectDeployed(stage, found[0]?.arn);
  return found;
}

const flags = {
  "dry-run": { type: "boolean", default: false },
  yes: { type: "boolean", default: false },
} as const;

export const syntax = { usage, flags, count: { min: 2, max: 2 } };

if (import.meta.main) {
  await runCommand(syntax, async ({ "dry-run": isDryRun, yes }, [action, stage = ""]) => {
    if (action !== "publish") throw new UsageError(`${action} is unknown: events can be published`);
    await publishEvents({ stage, isDryRun, yes, print });
  });
}
