import { LambdaClient } from "@aws-sdk/client-lambda";
import { writeLog } from "../../lib/aws/log.ts";
import type { OperatorContext } from "../../lib/operators/operator-function.ts";
import { payloadOf } from "../../lib/operators/payloads.ts";
import { respondToCloudFormation } from "../../lib/operators/release/cloudformation.ts";
import { publishRelease } from "../../lib/operators/release/release.ts";

/** A release changes many functions at once, and Lambda throttles. A function takes no longer than API Gateway waits. */
const lambda = new LambdaClient({
  maxAttempts: 10,
  requestHandler: { requestTimeout: 40_000, throwOnRequestTimeout: true },
});

const log: OperatorContext["log"] = (fields, level = "info") =>
  writeLog(level, { endpoint: "ops-release-on-deploy", ...fields });

/**
 * Publishes a version of each function of a stage and tries it, before any of their aliases moves. If one fails, so does
 * the deployment, and no version of the release remains.
 */
export async function handler(event: unknown): Promise<void> {
  const request = payloadOf("ops/release-on-deploy", event);
  await respondToCloudFormation(request, "release", async () => {
    const { RequestType, ResourceProperties, OldResourceProperties } = request;
    if (RequestType === "Delete" || !ResourceProperties) return {};
    const { Functions: functions, Release: release, Untried } = ResourceProperties;
    const replaced = RequestType === "Update" ? OldResourceProperties?.Release : undefined;
    const versions = await publishRelease({ lambda, functions, release, replaced, isUntried: Untried === "true", log });
    log({ release, versions, untried: Untried });
    return versions;
  });
}
