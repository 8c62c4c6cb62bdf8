import { Duration, type Stack } from "aws-cdk-lib";
import type { Distribution } from "aws-cdk-lib/aws-cloudfront";
import { MathExpression, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { Construct } from "constructs";
import { invalidationsAtOnce } from "../../settings/concurrency.ts";
import type { EdgeSettings } from "../../settings/schema.ts";
import type { Resource } from "../shared/service-function.ts";
import { aliasName, type Stage } from "../shared/stage.ts";

const lateSeconds = 300;

/**
 * Invalidates at the edge what has changed: functions that change something notify it, and every minute it looks for what
 * was missed. So an event that waits for longer than that is dropped, and one that fails is not repeated.
 */
export function invalidateAtEdge(
  { stack, settings, makeScheduled, log, alarms, metrics }: Stage,
  { invalidationsADay }: EdgeSettings,
  { distributionId, distributionArn }: Distribution,
): void {
  const invalidating = {
    variables: { API_DISTRIBUTION: distributionId, INVALIDATIONS_A_DAY: `${invalidationsADay}` },
    policies: { Invalidate: [{ actions: ["cloudfront:CreateInvalidation"], resources: [distributionArn] }] },
  };
  // A run stays while there is work, and as long it tries when CloudFront refuses.
  const run = new Construct(new Construct(stack, "EdgeInvalidation"), "Run");
  const lambda = makeScheduled(run, "ops-invalidate", {
    description: "Invalidates at the edge what has changed",
    resources: [invalidating],
    concurrent: invalidationsAtOnce(settings),
    retryAttempts: 0,
    maxEventAge: Duration.minutes(1),
    every: Duration.minutes(1),
  });
  const waited = metrics.extract(log, "stale-seconds", '{ $.oldestInSeconds = "*" }', {
    metricValue: "$.oldestInSeconds",
    statistic: Stats.MAXIMUM,
  });
  alarms.add("stale-responses", {
    metric: new MathExpression({
      label: "seconds that changes waited; failing or absent runs count as late",
      expression: `FILL(waited, 0) + ${lateSeconds} * (FILL(errors, 0) + IF(FILL(runs, 0) > 0, 0, 1))`,
      usingMetrics: { waited, errors: lambda.metricErrors(), runs: lambda.metricInvocations() },
    }),
    impact:
      "Visitors read what was changed minutes ago, or unpublished: `ops-invalidate` fails, does not run, or waits for CloudFront or its budget. Its log says why.",
    threshold: lateSeconds,
    evaluationPeriods: 2,
  });
  alarms.add("invalidations-over-budget", {
    metric: metrics.extract(log, "over-budget", "{ $.isOverBudget IS TRUE }"),
    impact: `${invalidationsADay} paths were invalidated today (edge.invalidationsADay). From now on changes are visible after up to ten minutes, and then the whole cache is emptied. An import is running, or another program changes the catalogue all the time.`,
  });
}

/**
 * For functions that notify it. The name instead of a reference: its distribution depends on the API, and that on all
 * functions of endpoints.
 */
export function notifyingEdge(stack: Stack, prefix: string): Resource {
  const resourceName = `${prefix}-ops-invalidate:${aliasName}`;
  const arn = stack.formatArn({ service: "lambda", resource: `function:${resourceName}` });
  return {
    variables: { INVALIDATE_FUNCTION: resourceName },
    policies: { Notify: [{ actions: ["lambda:InvokeFunction"], resources: [arn] }] },
  };
}
