import {
  type AliasConfiguration,
  DeleteFunctionCommand,
  type FunctionConfiguration,
  type LambdaClient,
  paginateListAliases,
  paginateListVersionsByFunction,
} from "@aws-sdk/client-lambda";
import type { VersionShift } from "./version-shift.ts";

/** The version that is being released, and five to go back to. */
export const versionsKept = 6;

/** Deletes a function's versions but the newest, those of its aliases, and those between which its traffic moves. */
export async function pruneVersions(lambda: LambdaClient, { functionName, current, target }: VersionShift) {
  const versions = (await publishedVersions(lambda, functionName)).map(numberOf);
  const needed = new Set([...versions.slice(-versionsKept), current, target, ...(await inUse(lambda, functionName))]);
  for (const version of versions.filter((each) => !needed.has(each))) {
    // Lambda itself refuses to delete the version of an alias.
    await lambda.send(new DeleteFunctionCommand({ FunctionName: functionName, Qualifier: `${version}` }));
  }
}

/** A function's published versions, oldest first. */
export async function publishedVersions(client: LambdaClient, FunctionName: string): Promise<FunctionConfiguration[]> {
  const versions: FunctionConfiguration[] = [];
  for await (const { Versions = [] } of paginateListVersionsByFunction({ client }, { FunctionName })) {
    versions.push(...Versions.filter(({ Version }) => Version !== "$LATEST"));
  }
  return versions.sort((one, other) => numberOf(one) - numberOf(other));
}

const numberOf = ({ Version }: FunctionConfiguration): number => Number(Version);

async function inUse(client: LambdaClient, FunctionName: string): Promise<number[]> {
  const aliases: AliasConfiguration[] = [];
  for await (const { Aliases = [] } of paginateListAliases({ client }, { FunctionName })) aliases.push(...Aliases);
  return aliases.flatMap(({ FunctionVersion, RoutingConfig }) =>
    [FunctionVersion, ...Object.keys(RoutingConfig?.AdditionalVersionWeights ?? {})].map(Number),
  );
}
