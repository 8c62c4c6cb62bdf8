import { handler as migrate } from "../../../functions/ops/migrate.ts";

/** CloudFormation's request to a custom resource (CloudFormation, "Custom resource reference"). */
export interface DeploymentEvent {
  readonly RequestType: "Create" | "Update" | "Delete";
  readonly ResponseURL: string;
  readonly StackId: string;
  readonly RequestId: string;
  readonly LogicalResourceId: string;
}

/** CloudFormation reads 4,096 bytes of an answer. */
const reasonLengthMax = 2_000;

/**
 * Makes a handler that does the work when a stack is created or updated, and sends the outcome to CloudFormation. If
 * the work fails, the deployment fails with its error as the reason; the handler throws the error, so that Lambda
 * counts it.
 */
export const onDeployment = (work: () => Promise<unknown>) => async (event: DeploymentEvent) => {
  const failure = event.RequestType === "Delete" ? undefined : await failureOf(work);
  const { StackId, RequestId, LogicalResourceId } = event;
  const outcome = failure
    ? { Status: "FAILED", Reason: failure.message.slice(0, reasonLengthMax) }
    : { Status: "SUCCESS" };
  const body = JSON.stringify({ ...outcome, PhysicalResourceId: "migrations", StackId, RequestId, LogicalResourceId });
  // The URL is signed for a request without a content type.
  const answer = await fetch(event.ResponseURL, { method: "PUT", body, headers: { "content-type": "" } });
  if (!answer.ok) throw new Error(`CloudFormation did not take the answer: ${answer.status}`);
  if (failure) throw failure;
};

async function failureOf(work: () => Promise<unknown>): Promise<Error | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The cluster is the stack's own. A restored one has the passwords of its snapshot, which are in no secret any more. */
export const handler = onDeployment(() => migrate({ setPasswords: true, closeOtherDatabases: true }));
