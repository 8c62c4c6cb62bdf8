import { invokeLater } from "../../lib/aws/lambda.ts";
import { deadlineFromNow, isFault, retry } from "../../lib/aws/retry.ts";
import { StillRunning } from "../../lib/migrations/slow.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";
import { respondToCloudFormation } from "../../lib/operators/release/cloudformation.ts";
import { handler as migrate } from "./migrate.ts";

/** CloudFormation waits for an hour (infra/stacks/database/migration.ts); an invocation ends after 15 minutes. */
const invocationsMax = 4;

/**
 * Brings the database up to date when its stack is created or updated. An update that finds an empty database, such as
 * a new cluster that was made without its snapshot, fails and changes nothing. While a slow migration runs, one
 * invocation after the other watches it, for as long as CloudFormation waits.
 */
export const handler = operatorFunction("ops/migrate-on-deploy", async (request, { context }) => {
  const { RequestType, ResourceProperties } = request;
  const refuseEmpty = RequestType === "Update" && !ResourceProperties?.MayBeEmpty;
  // The cluster is the stack's own. A restored one has the passwords of its snapshot, which are in no secret any more.
  const settings = { setPasswords: true, closeOtherDatabases: true, refuseEmpty };
  const work = RequestType === "Delete" ? undefined : migrate(settings, context);
  const error: unknown = await work?.then(
    () => undefined,
    (cause) => cause,
  );
  if (error instanceof StillRunning && request.Invocation < invocationsMax) {
    const next = { ...request, Invocation: request.Invocation + 1 };
    await retry(() => invokeLater(`${process.env.AWS_LAMBDA_FUNCTION_NAME}`, next), isFault, deadlineFromNow());
    return;
  }
  await respondToCloudFormation(request, "migrations", async () => void (await work));
});
