import {
  type AliasConfiguration,
  type FunctionConfiguration,
  GetAliasCommand,
  type LambdaClient,
  paginateListFunctions,
  ResourceNotFoundException,
} from "@aws-sdk/client-lambda";
import { numberOf, publishedVersions, releaseOf } from "../../lib/operators/versions.ts";
import { expectDeployed } from "./stage.ts";

export interface ReleasedVersion {
  readonly number: number;
  /** The name of its release; undefined if it was released before releases had names. */
  readonly release: string | undefined;
  /** The number of the last migration that it expects. */
  readonly migration: number;
  /** ISO 8601. */
  readonly publishedAt: string;
  /** The cluster that it uses; another one before a restore. */
  readonly cluster: string | undefined;
}

/** A function that API Gateway calls by its alias `live`. */
export interface ReleasedFunction {
  readonly name: string;
  /** Oldest first. */
  readonly versions: readonly ReleasedVersion[];
  /** The version that gets the traffic. */
  readonly live: number;
}

export const aliasName = "live";

/** Those of an account and region. */
async function allFunctions(client: LambdaClient): Promise<FunctionConfiguration[]> {
  const functions: FunctionConfiguration[] = [];
  for await (const { Functions = [] } of paginateListFunctions({ client }, {})) functions.push(...Functions);
  return functions;
}

/**
 * All functions of a stage that have an alias.
 * @throws if the stage is not deployed, or the credentials are those of another account
 */
export async function releasedFunctions(client: LambdaClient, stage: string): Promise<ReleasedFunction[]> {
  const own = (await allFunctions(client)).filter(({ FunctionName }) => FunctionName?.startsWith(`colophon-${stage}-`));
  expectDeployed(stage, own[0]?.FunctionArn);
  const released = await Promise.all(own.map(({ FunctionName = "" }) => releasedFunction(client, FunctionName)));
  return released.filter((each) => each !== undefined);
}

async function releasedFunction(client: LambdaClient, name: string): Promise<ReleasedFunction | undefined> {
  const alias = await aliasOf(client, name);
  if (!alias) return undefined;
  return {
    name,
    versions: (await publishedVersions(client, name)).map(versionOf),
    live: Number(alias.FunctionVersion),
  };
}

/** Undefined if the function has none: operators' functions run their newest code. */
async function aliasOf(client: LambdaClient, FunctionName: string): Promise<AliasConfiguration | undefined> {
  try {
    return await client.send(new GetAliasCommand({ FunctionName, Name: aliasName }));
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}

function versionOf(version: FunctionConfiguration): ReleasedVersion {
  return {
    number: numberOf(version),
    ...releaseOf(version),
    publishedAt: version.LastModified ?? "",
    cluster: version.Environment?.Variables?.DATABASE_CLUSTER_ARN,
  };
}
