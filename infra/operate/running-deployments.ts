import {
  BatchGetDeploymentsCommand,
  type CodeDeployClient,
  DeploymentAlreadyCompletedException,
  paginateListDeployments,
  StopDeploymentCommand,
} from "@aws-sdk/client-codedeploy";

/** CodeDeploy describes so many deployments at once. */
const batchMax = 25;

/** The ids of the deployments that move traffic of a stage's functions now. */
export async function runningDeployments(client: CodeDeployClient, stage: string): Promise<string[]> {
  const all: string[] = [];
  const includeOnlyStatuses = ["Created" as const, "Queued" as const, "InProgress" as const, "Ready" as const];
  for await (const { deployments = [] } of paginateListDeployments({ client }, { includeOnlyStatuses })) {
    all.push(...deployments);
  }
  const own: string[] = [];
  for (let start = 0; start < all.length; start += batchMax) {
    const command = new BatchGetDeploymentsCommand({ deploymentIds: all.slice(start, start + batchMax) });
    const { deploymentsInfo = [] } = await client.send(command);
    own.push(...deploymentsInfo.filter(isOf(stage)).flatMap(({ deploymentId }) => deploymentId ?? []));
  }
  return own;
}

/** CloudFormation's names begin with the stack's and the resource's (infra/stacks/api/release.ts). */
const isOf =
  (stage: string) =>
  ({ applicationName }: { readonly applicationName?: string | undefined }): boolean =>
    applicationName?.startsWith(`colophon-${stage}-ReleaseApplication`) ?? false;

/** Otherwise it would move the traffic again. CloudFormation then takes back the rest of the release. */
export async function stopDeployment(client: CodeDeployClient, deploymentId: string): Promise<void> {
  try {
    await client.send(new StopDeploymentCommand({ deploymentId, autoRollbackEnabled: true }));
  } catch (error) {
    if (!(error instanceof DeploymentAlreadyCompletedException)) throw error;
  }
}
