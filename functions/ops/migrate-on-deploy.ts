import type { Context } from "aws-lambda";
import { invokeLater } from "../../lib/lambda.ts";
import { StillRunning } from "../../lib/migrations/slow.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";
import type { OperatorPayload } from "../../lib/operators/payloads.ts";
import { deadlineFromNow, isFault, retry } from "../../lib/retry.ts";
import { handler as migrate } from "./migrate.ts";

type Request = OperatorPayload<"ops/migrate-on-deploy">;

/** CloudFormation waits for an hour (infra/stacks/database/migration.ts); an invocation ends after 15 minutes. */
const invocationsMax = 4;

/** CloudFormation reads 4,096 bytes of an answer. */
const reasonLengthMax = 2_000;

/**
 * Brings the database up to date when its stack is created or updated, and sends the outcome to CloudFormation. If that
 * fails, the deployment fails with its error as the reason; the function throws the error, so that Lambda counts it. An
 * update that finds an empty database, such as a new cluster that was made without its snapshot, fails and changes nothing.
 * While a slow migration runs, one invocation after the other watches it, for as long as CloudFormation waits.
 */
export const handler = operatorFunction("ops/migrate-on-deploy", async (request, { context }) => {
  const failure = request.RequestType === "Delete" ? undefined : await failureOfMigration(request, context);
  if (failure instanceof StillRunning && request.Invocation < invocationsMax) {
    const next = { ...request, Invocation: request.Invocation + 1 };
    await retry(() => invokeLater(`${process.env.AWS_LAMBDA_FUNCTION_NAME}`, next), isFault, deadlineFromNow());
    return;
  }
  const { StackId, RequestId, LogicalResourceId } = request;
  const outcome = failure
    ? { Status: "FAILED", Reason: failure.message.slice(0, reasonLengthMax) }
    : { Status: "SUCCESS" };
  const body = JSON.stringify({ ...outcome, PhysicalResourceId: "migrations", StackId, RequestId, LogicalResourceId });
  // The URL is signed for a request without a content type.
  const response = await fetch(request.ResponseURL, { method: "PUT", body, headers: { "content-type": "" } });
  if (!response.ok) throw new Error(`CloudFormation did not take the answer: ${response.status}`);
  if (failure) throw failure;
});

/** The cluster is the stack's own. A restored one has the passwords of its snapshot, which are in no secret any more. */
async function failureOfMigration(
  { RequestType, ResourceProperties }: Request,
  context: Context | undefined,
): Promise<Error | undefined> {
  const refuseEmpty = RequestType === "Update" && !ResourceProperties?.MayBeEmpty;
  try {
    await migrate({ setPasswords: true, closeOtherDatabases: true, refuseEmpty }, context);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
