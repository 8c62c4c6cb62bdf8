import { RemovalPolicy } from "aws-cdk-lib";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import type { StageSettings } from "../../settings/schema.ts";

/** How long logs are kept, and whether they outlive their stack. */
export type LogSettings = Pick<StageSettings, "logRetentionDays" | "isProtected">;

/** What holds data of a protected stack or database outlives it. */
export const removalPolicyOf = (isProtected: boolean) =>
  isProtected ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;

/** A log group. Without it the service that writes the log would create one that is kept for ever. */
export function makeLog(
  scope: Construct,
  id: string,
  logGroupName: string,
  { logRetentionDays, isProtected }: LogSettings,
): LogGroup {
  return new LogGroup(scope, id, {
    logGroupName,
    retention: logRetentionDays,
    removalPolicy: removalPolicyOf(isProtected),
  });
}

/**
 * The log of all functions of a stack: one search finds a request, whichever function handled it, and Logs Insights
 * reads at most fifty groups at once. The names of its streams begin with the day and the function's name.
 */
export const makeFunctionLog = (stack: Construct, owner: string, settings: LogSettings): LogGroup =>
  makeLog(stack, "Log", `/colophon/${owner}/functions`, settings);
