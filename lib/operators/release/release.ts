import { setTimeout as sleep } from "node:timers/promises";
import { type LambdaClient, PublishVersionCommand, waitUntilPublishedVersionActive } from "@aws-sdk/client-lambda";
import { serializeError } from "../../http/log.ts";
import type { OperatorContext } from "../operator-function.ts";
import { DatabaseSilent, tryVersion } from "./try-version.ts";
import { deleteVersion, numberOf, pruneVersions, publishedVersions, releaseOf } from "./versions.ts";

export interface ReleaseRequest extends Pick<OperatorContext, "log"> {
  readonly lambda: LambdaClient;
  /** The names of the functions. */
  readonly functions: readonly string[];
  readonly release: string;
  /** The release that this one replaces; undefined when the stack is created. */
  readonly replaced: string | undefined;
  /** Whether versions are released without a trial, while the database does not respond. */
  readonly isUntried: boolean;
}

/** New accounts may run ten functions at once. */
const functionsAtOnce = 8;

/** A new role, or a new right, works everywhere in AWS only after some seconds (IAM, "Eventual consistency"). */
const attempts = 3;
const pauseInMilliseconds = 5_000;

/** A paused database takes up to a minute to resume. All trials wait for it together. */
const databaseWaitInMilliseconds = 90_000;

const prefix = process.env.FUNCTION_PREFIX ?? "";

/**
 * Publishes a version of each function and tries it. Then it deletes versions that are too old to go back to.
 * @returns the versions, by the functions' names without the prefix
 * @throws if one of them fails; then it has deleted all that were not released before
 */
export async function publishRelease(request: ReleaseRequest): Promise<Readonly<Record<string, string>>> {
  const { lambda, functions, log, isUntried } = request;
  const databaseDeadline = performance.now() + databaseWaitInMilliseconds;
  const versions = new Map<string, Awaited<ReturnType<typeof versionOf>>>();
  const failures: string[] = [];
  const silent: string[] = [];
  const prepare = async (FunctionName: string) => {
    // The version that an earlier attempt published was not released, even if the function has no other one.
    const version = versions.get(FunctionName) ?? (await versionOf(FunctionName, request));
    versions.set(FunctionName, version);
    const { number, wasReleased } = version;
    if (wasReleased) return;
    const waiter = { client: lambda, maxWaitTime: 120, minDelay: 1, maxDelay: 5 };
    await waitUntilPublishedVersionActive(waiter, { FunctionName, Qualifier: `${number}` });
    if (!isUntried) await tryVersion(lambda, FunctionName, number, databaseDeadline);
  };
  await inParallel(functions, async (functionName) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await prepare(functionName);
      } catch (error) {
        if (error instanceof DatabaseSilent) return void silent.push(functionName);
        if (attempt < attempts) await sleep(pauseInMilliseconds);
        else return void failures.push(`${functionName}: ${error instanceof Error ? error.message : error}`);
      }
    }
  });
  if (silent.length > 0)
    failures.push(
      `The database does not respond, so ${silent.length} versions could not be tried, ${silent.sort()[0]} among them. ` +
        "If this release is the cure, deploy it with --untried",
    );
  const hasFailed = failures.length > 0;
  await inParallel([...versions], async ([functionName, { number, wasReleased }]) => {
    try {
      if (!hasFailed) await pruneVersions(lambda, functionName, number);
      else if (!wasReleased) await deleteVersion(lambda, functionName, number);
    } catch (error) {
      log({ functionName, error: serializeError(error) }, "warn");
    }
  });
  if (hasFailed) throw new Error(failures.sort().join("\n"));
  return Object.fromEntries([...versions].map(([name, { number }]) => [name.slice(prefix.length), `${number}`]));
}

/**
 * The function's version of this release, which it publishes if there is none. When CloudFormation takes back a
 * deployment, it requests the release before, and nothing may stop that. The failed release has later versions, or none
 * any more.
 */
async function versionOf(FunctionName: string, { lambda, release, replaced }: ReleaseRequest) {
  const versions = await publishedVersions(lambda, FunctionName);
  const find = (name: string | undefined) => versions.findLast((each) => releaseOf(each).release === name);
  const existing = find(release);
  if (!existing) {
    const published = await lambda.send(new PublishVersionCommand({ FunctionName }));
    return { number: numberOf(published), wasReleased: false };
  }
  const old = find(replaced);
  const isLater = old !== undefined && numberOf(old) < numberOf(existing);
  return { number: numberOf(existing), wasReleased: replaced !== undefined && !isLater };
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: functionsAtOnce }, worker));
}
