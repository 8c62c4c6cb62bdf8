import { Duration } from "aws-cdk-lib";
import * as cloudwatch from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import { namespace } from "../shared/metrics.ts";
import type { Stage } from "../shared/stage.ts";
import { blockedByRule, type CdnMetricName, cdnMetric, type DistributionIds, webAclName, webAclsOf } from "./cdn.ts";

/** A dashboard of traffic, errors, latency, the database and what causes costs. */
export function addDashboard(
  scope: Construct,
  { unique, prefix, settings, metrics, log }: Stage,
  { clusterIdentifier, distributions }: { readonly clusterIdentifier: string; readonly distributions: DistributionIds },
): void {
  const webAcls = webAclsOf(settings).map((each) => webAclName(unique, each));
  const size = { width: 12, height: 6 };
  const half = (title: string, left: cloudwatch.IMetric[], right: cloudwatch.IMetric[] = []) =>
    new cloudwatch.GraphWidget({ title, left, right, ...size });
  const logged = (title: string, queryString: string, view = cloudwatch.LogQueryVisualizationType.BAR) =>
    new cloudwatch.LogQueryWidget({ title, logGroupNames: [log.logGroupName], queryString, view, ...size });
  /** The prefix is not quoted, so it matches a part of the name; in quotes it would have to be the whole name. */
  const search = (space: string, dimension: string, metric: string, statistic: string) =>
    `SEARCH('{${space},${dimension}} MetricName="${metric}" ${dimension}=${prefix}', '${statistic}', 300)`;
  const everyFunction = (label: string, statistic: string) =>
    new cloudwatch.MathExpression({ label, expression: search("AWS/Lambda", "FunctionName", label, statistic) });
  const total = (space: string, dimension: string, label: string) =>
    new cloudwatch.MathExpression({ label, expression: `SUM(${search(space, dimension, label, "Sum")})` });
  const dimensionsMap = { DBClusterIdentifier: clusterIdentifier };
  const database = (metricName: string) =>
    new cloudwatch.Metric({ namespace: "AWS/RDS", metricName, dimensionsMap, statistic: "Maximum" });
  /** Minutes in which the database resumes: its capacity rises from 0. */
  const resumes = new cloudwatch.MathExpression({
    label: "resumes",
    expression: "IF(capacity > 0 AND capacity - DIFF(capacity) == 0, 1, 0)",
    usingMetrics: { capacity: database("ServerlessDatabaseCapacity") },
    period: Duration.minutes(1),
  });
  /** Failures that functions log. Lambda's own metric `Errors` does not count a function that returns 5xx. */
  const failuresByEndpoint = new cloudwatch.MathExpression({
    label: "failures",
    expression: `SEARCH('{${namespace},endpoint} MetricName="${prefix}-failures"', 'Sum', 300)`,
  });
  const ofCdn = (metricName: CdnMetricName) =>
    [...distributions].map(([label, id]) => cdnMetric(id, metricName).with({ label }));
  const widgets = [
    half("Traffic", [metrics.api("Count")]),
    half("Errors", [metrics.api("4XXError"), metrics.api("5XXError")], [metrics.failureRate]),
    half(
      "Latency",
      ["p50", "p90", "p99"].map((each) => metrics.api("Latency", each)),
      [metrics.customMetric("first-byte", "p99").with({ label: "lists until they begin, p99" })],
    ),
    half("Latency by endpoint, p99", [everyFunction("Duration", "p99")]),
    // Lambda's metric `Errors` counts functions that crash, and the log those that return 5xx.
    half("Failures by function", [failuresByEndpoint], [everyFunction("Errors", "Sum")]),
    half(
      "Functions at once, and turned away",
      [everyFunction("ConcurrentExecutions", "Maximum")],
      [everyFunction("Throttles", "Sum")],
    ),
    // Nearly all endpoints call the Data API once per request.
    logged("Requests that called the Data API, by endpoint", "filter status != 401 | stats count(*) by endpoint"),
    half("Database", [database("ACUUtilization")], [database("DatabaseConnections")]),
    logged("Cold starts", "filter cold = 1 | stats count(*) by endpoint"),
    half("Capacity and resumes from a pause", [database("ServerlessDatabaseCapacity")], [resumes]),
    half(
      "What costs: requests, milliseconds of functions, bytes of logs",
      [metrics.api("Count"), total("AWS/Lambda", "FunctionName", "Duration")],
      [total("AWS/Logs", "LogGroupName", "IncomingBytes")],
    ),
  ];
  if (distributions.size > 0)
    widgets.push(
      half("CloudFront: requests, bytes sent", ofCdn("Requests"), ofCdn("BytesDownloaded")),
      half("CloudFront: responses that are 5xx, percent", ofCdn("5xxErrorRate")),
    );
  if (settings.edge)
    widgets.push(
      // ops-invalidate and ops-smoke log it. A metric would cost $0.30 a month, and no alarm reads it.
      logged(
        "Invalidations: seconds that changes waited; paths; age of a response at the edge",
        "stats max(oldestInSeconds) as seconds, sum(paths) as paths, max(edgeAgeInSeconds) as age by bin(5m)",
        cloudwatch.LogQueryVisualizationType.LINE,
      ),
    );
  if (webAcls.length > 0)
    widgets.push(half("Firewall before CloudFront: blocked requests", webAcls.map(blockedByRule)));
  if (settings.signIn) {
    const endings = (["invalid", "denied", "unavailable"] as const).map((each) =>
      metrics.signIns(each).with({ label: each }),
    );
    widgets.push(half("Sign-ins that did not succeed", endings));
  }
  // Each row has room for two.
  new cloudwatch.Dashboard(scope, "Dashboard", {
    dashboardName: unique,
    periodOverride: cloudwatch.PeriodOverride.AUTO,
    widgets: [widgets],
  });
}
