import {
  CodeDeployClient,
  LifecycleEventAlreadyCompletedException,
  PutLifecycleEventHookExecutionStatusCommand,
} from "@aws-sdk/client-codedeploy";
import { LambdaClient } from "@aws-sdk/client-lambda";
import { serializeError } from "../../lib/http/log.ts";
import { type Level, writeLog } from "../../lib/log.ts";
import { payloadOf } from "../../lib/operators/payloads.ts";
import { tryVersion } from "../../lib/operators/try-version.ts";
import { type VersionShift, versionShiftOf } from "../../lib/operators/version-shift.ts";
import { pruneVersions } from "../../lib/operators/versions.ts";
import { timeouts } from "../../lib/retry.ts";

/** A release changes many functions at once, and both services throttle. */
const maxAttempts = 10;
const codeDeploy = new CodeDeployClient({ maxAttempts, requestHandler: timeouts });
/** Longer than API Gateway waits for a function. */
const lambda = new LambdaClient({
  maxAttempts,
  requestHandler: { requestTimeout: 40_000, throwOnRequestTimeout: true },
});

interface Verdict {
  readonly status: "Succeeded" | "Failed";
}

/**
 * CodeDeploy runs it before it moves traffic to a new version of a function (`BeforeAllowTraffic`). It sends this very
 * version the function's sample event. Unless the answer is as declared, the release fails before it has served
 * anybody. Then it deletes versions that nobody will go back to.
 */
export async function handler(event: unknown): Promise<Verdict> {
  const { DeploymentId: deploymentId, LifecycleEventHookExecutionId } = payloadOf("ops/verify-release", event);
  const { shift, error } = await verify(deploymentId);
  const status = error === undefined ? "Succeeded" : "Failed";
  log(error === undefined ? "info" : "error", { deploymentId, ...shift, status, ...describe(error) });
  await report({ deploymentId, lifecycleEventHookExecutionId: LifecycleEventHookExecutionId, status });
  if (shift && error === undefined) {
    await pruneVersions(lambda, shift).catch((cause) => log("warn", { ...shift, ...describe(cause) }));
  }
  return { status };
}

/** Whatever goes wrong, the release fails. CodeDeploy would wait for an hour if it were not told. */
async function verify(deploymentId: string): Promise<{ shift?: VersionShift; error?: unknown }> {
  let shift: VersionShift | undefined;
  try {
    shift = await versionShiftOf(codeDeploy, deploymentId);
    // An older version has been released before, and nothing may stop a release that goes back.
    if (shift.target > shift.current) await tryVersion(lambda, shift.functionName, shift.target);
    return { shift };
  } catch (error) {
    return { ...(shift && { shift }), error };
  }
}

/** When Lambda retries this invocation, CodeDeploy may already have been told. */
async function report(verdict: Verdict & { deploymentId: string; lifecycleEventHookExecutionId: string }) {
  try {
    await codeDeploy.send(new PutLifecycleEventHookExecutionStatusCommand(verdict));
  } catch (error) {
    if (!(error instanceof LifecycleEventAlreadyCompletedException)) throw error;
  }
}

const describe = (error: unknown) => (error === undefined ? {} : { error: serializeError(error) });

const log = (level: Level, fields: object) => writeLog(level, { endpoint: "ops-verify-release", ...fields });
