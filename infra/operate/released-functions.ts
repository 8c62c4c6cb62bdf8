import {
  type FunctionConfiguration,
  GetAliasCommand,
  type LambdaClient,
  paginateListFunctions,
  ResourceNotFoundException,
} from "@aws-sdk/client-lambda";
import { numberOf, publishedVersions, releaseOf } from "../../lib/operators/release/versions.ts";
import { settings } from "../settings/settings.ts";

/** A function whose released version has the alias `live`. */
export interface ReleasedFunction {
  readonly name: string;
  /** Oldest first. */
  readonly versions: readonly ReleasedVersion[];
  /** The version that gets the traffic. */
  readonly live: number;
}

export type ReleasedVersion = ReturnType<typeof versionOf>;

export const aliasName = "live";

/**
 * All functions of a stage that have an alias.
 * @throws if the stage is not deployed, or the credentials are those of another account
 */
export async function releasedFunctions(client: LambdaClient, stage: string): Promise<ReleasedFunction[]> {
  const ofStage: FunctionConfiguration[] = [];
  for await (const { Functions = [] } of paginateListFunctions({ client }, {}))
    ofStage.push(...Functions.filter(({ FunctionName }) => FunctionName?.startsWith(`colophon-${stage}-`)));
  const { id, region } = settings.account;
  const account = ofStage[0]?.FunctionArn?.split(":")[4] ?? id;
  if (account !== id) throw new Error(`These credentials are for account ${account}, and the settings for ${id}`);
  const all = ofStage.map(async ({ FunctionName: name = "" }) => {
    const live = await liveVersionOf(client, name);
    return live === undefined ? [] : { name, live, versions: (await publishedVersions(client, name)).map(versionOf) };
  });
  const released = (await Promise.all(all)).flat();
  if (released.length > 0) return released;
  throw new Error(`No function of stage ${stage} has an alias in ${region}: deploy it first`);
}

/** Undefined if the function has no alias: those of the database run their newest code. */
async function liveVersionOf(client: LambdaClient, FunctionName: string): Promise<number | undefined> {
  try {
    const { FunctionVersion } = await client.send(new GetAliasCommand({ FunctionName, Name: aliasName }));
    return Number(FunctionVersion);
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}

const versionOf = (version: FunctionConfiguration) => ({
  number: numberOf(version),
  ...releaseOf(version),
  /** ISO 8601. */
  publishedAt: version.LastModified ?? "",
  /** The cluster that it uses; another one before a restore. */
  cluster: version.Environment?.Variables?.DATABASE_CLUSTER_ARN,
});
