import {
  type FunctionConfiguration,
  GetAliasCommand,
  type LambdaClient,
  paginateListFunctions,
  ResourceNotFoundException,
} from "@aws-sdk/client-lambda";
import { numberOf, publishedVersions, releaseOf } from "../../lib/operators/versions.ts";
import { expectDeployed } from "./stage.ts";

/** A function that API Gateway calls by its alias `live`. */
export interface ReleasedFunction {
  readonly name: string;
  /** Oldest first. */
  readonly versions: readonly ReturnType<typeof versionOf>[];
  /** The version that gets the traffic. */
  readonly live: number;
}

export const aliasName = "live";

/**
 * All functions of a stage that have an alias.
 * @throws if the stage is not deployed, or the credentials are those of another account
 */
export async function releasedFunctions(client: LambdaClient, stage: string): Promise<ReleasedFunction[]> {
  const own: FunctionConfiguration[] = [];
  for await (const { Functions = [] } of paginateListFunctions({ client }, {}))
    own.push(...Functions.filter(({ FunctionName }) => FunctionName?.startsWith(`colophon-${stage}-`)));
  expectDeployed(stage, own[0]?.FunctionArn);
  const released = await Promise.all(own.map(({ FunctionName = "" }) => releasedFunction(client, FunctionName)));
  return released.filter((each) => each !== undefined);
}

/** Undefined if the function has no alias: operators' functions run their newest code. */
async function releasedFunction(client: LambdaClient, name: string): Promise<ReleasedFunction | undefined> {
  const command = new GetAliasCommand({ FunctionName: name, Name: aliasName });
  const alias = await client.send(command).catch(undefinedIfMissing);
  if (!alias) return undefined;
  const versions = await publishedVersions(client, name);
  return { name, versions: versions.map(versionOf), live: Number(alias.FunctionVersion) };
}

function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof ResourceNotFoundException)) throw error;
}

const versionOf = (version: FunctionConfiguration) => ({
  number: numberOf(version),
  ...releaseOf(version),
  /** ISO 8601. */
  publishedAt: version.LastModified ?? "",
  /** The cluster that it uses; another one before a restore. */
  cluster: version.Environment?.Variables?.DATABASE_CLUSTER_ARN,
});
