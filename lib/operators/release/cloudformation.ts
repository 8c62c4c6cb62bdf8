import type { OperatorPayload } from "../payloads.ts";

type Request = OperatorPayload<"ops/migrate-on-deploy" | "ops/release-on-deploy">;

/** CloudFormation reads 4,096 bytes of a response. */
const reasonLengthMax = 2_000;

/**
 * Sends CloudFormation the outcome of some work. If that fails, the deployment fails with its error as the reason.
 * @param work returns the attributes of the resource, if it has any
 * @throws the error of the work, so that Lambda counts it
 */
export async function respondToCloudFormation(
  { ResponseURL, StackId, RequestId, LogicalResourceId }: Request,
  PhysicalResourceId: string,
  work: () => Promise<Readonly<Record<string, string>> | undefined>,
): Promise<void> {
  let failure: Error | undefined;
  const outcome = await work().then(
    (Data) => ({ Status: "SUCCESS", Data }),
    (error: unknown) => {
      failure = error instanceof Error ? error : new Error(String(error));
      return { Status: "FAILED", Reason: failure.message.slice(0, reasonLengthMax) };
    },
  );
  const body = JSON.stringify({ ...outcome, PhysicalResourceId, StackId, RequestId, LogicalResourceId });
  // The URL is signed for a request without a content type.
  const response = await fetch(ResponseURL, { method: "PUT", body, headers: { "content-type": "" } });
  if (!response.ok) throw new Error(`CloudFormation did not take the response: ${response.status}`);
  if (failure) throw failure;
}
