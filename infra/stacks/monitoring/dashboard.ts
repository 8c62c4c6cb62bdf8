import {
  Dashboard,
  GraphWidget,
  type IMetric,
  LogQueryVisualizationType,
  LogQueryWidget,
  PeriodOverride,
  Stats,
} from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import { blockedByRule, type CdnMetricName, cdnMetric, webAclName, webAclsOf } from "./cdn-metrics.ts";
import type { MonitoringProps } from "./monitoring.ts";

/** A dashboard of traffic, errors, latency, the database and what causes costs. */
export function addDashboard(
  scope: Construct,
  { unique, settings, metrics, distributions, functionLog }: MonitoringProps,
): void {
  const webAcls = webAclsOf(settings).map((each) => webAclName(unique, each));
  const half = (title: string, left: IMetric[], right: IMetric[] = []) =>
    new GraphWidget({ title, left, right, width: 12, height: 6 });
  const logged = (title: string, queryString: string, view: LogQueryVisualizationType) =>
    new LogQueryWidget({
      title,
      logGroupNames: [functionLog.logGroupName],
      queryString,
      view,
      width: 12,
      height: 6,
    });
  const count = (title: string, query: string) => logged(title, query, LogQueryVisualizationType.BAR);
  const ofCdn = (metricName: CdnMetricName) =>
    [...distributions].map(([label, id]) => cdnMetric(id, metricName).with({ label }));
  new Dashboard(scope, "Dashboard", {
    dashboardName: unique,
    periodOverride: PeriodOverride.AUTO,
    widgets: [
      [
        half("Traffic", [metrics.api("Count", Stats.SUM)]),
        half(
          "Errors",
          [metrics.api("4XXError", Stats.SUM), metrics.api("5XXError", Stats.SUM)],
          [metrics.failureRate()],
        ),
      ],
      [
        half(
          "Latency",
          [50, 90, 99].map((each) => metrics.api("Latency", Stats.percentile(each))),
          [metrics.customMetric("first-byte", Stats.percentile(99)).with({ label: "lists until they begin, p99" })],
        ),
        half("Latency by endpoint, p99", [metrics.everyFunction("Duration", "p99")]),
      ],
      [
        // Lambda's metric `Errors` counts functions that crash, and the log those that return 5xx.
        half("Failures by function", [metrics.failuresByEndpoint()], [metrics.everyFunction("Errors", "Sum")]),
        half(
          "Functions at once, and turned away",
          [metrics.everyFunction("ConcurrentExecutions", "Maximum")],
          [metrics.everyFunction("Throttles", "Sum")],
        ),
      ],
      [
        // Nearly all endpoints call the Data API once per request.
        count("Requests that called the Data API, by endpoint", "filter status != 401 | stats count(*) by endpoint"),
        half("Database", [metrics.database("ACUUtilization")], [metrics.database("DatabaseConnections")]),
      ],
      [
        count("Cold starts", "filter cold = 1 | stats count(*) by endpoint"),
        half(
          "Capacity and resumes from a pause",
          [metrics.database("ServerlessDatabaseCapacity")],
          [metrics.resumes()],
        ),
      ],
      [
        half(
          "What costs: requests, milliseconds of functions, bytes of logs",
          [metrics.api("Count", Stats.SUM), metrics.total("AWS/Lambda", "FunctionName", "Duration")],
          [metrics.total("AWS/Logs", "LogGroupName", "IncomingBytes")],
        ),
        ...(distributions.size > 0
          ? [
              half("CloudFront: requests, bytes sent", ofCdn("Requests"), ofCdn("BytesDownloaded")),
              half("CloudFront: responses that are 5xx, percent", ofCdn("5xxErrorRate")),
            ]
          : []),
        ...(distributions.has("edge")
          ? [
              // ops-invalidate and ops-smoke log it. A metric would cost $0.30 a month, and no alarm reads it.
              logged(
                "Invalidations: seconds that changes waited; paths; age of a response at the edge",
                "stats max(oldestInSeconds) as seconds, sum(paths) as paths, max(edgeAgeInSeconds) as age by bin(5m)",
                LogQueryVisualizationType.LINE,
              ),
            ]
          : []),
        ...(webAcls.length > 0
          ? [half("Firewall before CloudFront: blocked requests", webAcls.map(blockedByRule))]
          : []),
        ...(settings.signIn
          ? [
              half(
                "Sign-ins that did not succeed",
                (["invalid", "denied", "unavailable"] as const).map((each) =>
                  metrics.signIns(each).with({ label: each }),
                ),
              ),
            ]
          : []),
      ],
    ],
  });
}
