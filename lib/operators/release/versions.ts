import {
  DeleteFunctionCommand,
  type FunctionConfiguration,
  type LambdaClient,
  paginateListVersionsByFunction,
} from "@aws-sdk/client-lambda";

/** The version that is being released, and five to go back to. */
export const versionsKept = 6;

/** The end of the description of a function (infra/stacks/api/release.ts), which its versions keep. */
const releaseForm = / \(release ([0-9a-f]{12}), migration (\d+)\)$/;

/** The release of a version, and the last migration that it expects; undefined for code without a release. */
export function releaseOf({ Description = "" }: FunctionConfiguration) {
  const [, release, migration] = releaseForm.exec(Description) ?? [];
  return { release, migration: Number(migration ?? 0) };
}

/** Deletes a function's versions but the newest, and the one that is about to be released. */
export async function pruneVersions(lambda: LambdaClient, functionName: string, released: number): Promise<void> {
  const versions = (await publishedVersions(lambda, functionName)).map(numberOf);
  const needed = new Set([...versions.slice(-versionsKept), released]);
  for (const version of versions.filter((each) => !needed.has(each))) {
    await deleteVersion(lambda, functionName, version);
  }
}

/** Lambda itself refuses to delete the version of an alias. */
export const deleteVersion = (lambda: LambdaClient, FunctionName: string, version: number) =>
  lambda.send(new DeleteFunctionCommand({ FunctionName, Qualifier: `${version}` }));

/** A function's published versions, oldest first. */
export async function publishedVersions(client: LambdaClient, FunctionName: string): Promise<FunctionConfiguration[]> {
  const versions: FunctionConfiguration[] = [];
  for await (const { Versions = [] } of paginateListVersionsByFunction({ client }, { FunctionName })) {
    versions.push(...Versions.filter(({ Version }) => Version !== "$LATEST"));
  }
  return versions.sort((one, other) => numberOf(one) - numberOf(other));
}

export const numberOf = ({ Version }: FunctionConfiguration): number => Number(Version);
