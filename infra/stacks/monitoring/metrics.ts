import { Duration } from "aws-cdk-lib";
import { MathExpression, Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { FilterPattern, type LogGroup, type MetricFilterOptions } from "aws-cdk-lib/aws-logs";
import type { Outcome } from "../../../lib/sign-in/failure.ts";
import type { Cluster } from "../database/database.ts";

/** Requests in a minute below which the rate of failures counts as 0: one failure would be more than 1 %. */
const requestsMin = 20;
/** Failures in five minutes below which no alarm fires. */
export const failuresMin = 3;

/** The namespace of our custom metrics. */
const namespace = "Colophon";

interface Extraction extends Pick<MetricFilterOptions, "metricValue" | "dimensions"> {
  /** @default the sum */
  readonly statistic?: string;
}

/**
 * The metrics of an API, its functions, their logs and its database, of five minutes each. An expression's period is
 * that of all its metrics.
 */
export function metricsOf(prefix: string, cluster: Pick<Cluster, "identifier">) {
  /** A metric of ours, which a metric filter extracts from a log. */
  const customMetric = (name: string, statistic: string = Stats.SUM): Metric =>
    new Metric({ namespace, metricName: `${prefix}-${name}`, statistic });

  /**
   * The same with its filter: `metricValue` of each line that matches the pattern (CloudWatch Logs, "Filter pattern syntax
   * for metric filters"), or else how many there are.
   */
  const extract = (log: LogGroup, name: string, pattern: string, { statistic, ...more }: Extraction = {}): Metric => {
    const id = name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
    const filterPattern = FilterPattern.literal(pattern);
    log.addMetricFilter(id, { filterPattern, metricNamespace: namespace, metricName: `${prefix}-${name}`, ...more });
    return customMetric(name, statistic);
  };

  /** A metric of the whole API. */
  const api = (metricName: string, statistic: string = Stats.SUM): Metric =>
    new Metric({ namespace: "AWS/ApiGateway", metricName, dimensionsMap: { ApiName: prefix }, statistic });
  const failures = api("5XXError");
  const requests = api("Count");

  const failureRate = new MathExpression({
    label: "5xx, percent",
    expression: `IF(requests >= ${requestsMin}, 100 * failures / requests, 0)`,
    usingMetrics: { failures, requests },
  });

  const failed = "(FILL(failures, 0) + FILL(broken, 0))";
  /** The share of responses that fail, in percent; 0 below `failuresMin` failures. */
  const severalFailures = new MathExpression({
    label: "5xx and broken lists, percent",
    expression: `IF(${failed} >= ${failuresMin}, 100 * ${failed} / requests, 0)`,
    usingMetrics: { failures, broken: customMetric("broken-lists"), requests },
  });

  /** The prefix is not quoted, so it matches a part of the name; in quotes it would have to be the whole name. */
  const search = (space: string, dimension: string, metric: string, statistic: string): string =>
    `SEARCH('{${space},${dimension}} MetricName="${metric}" ${dimension}=${prefix}', '${statistic}', 300)`;

  const everyFunction = (label: string, statistic: string): MathExpression =>
    new MathExpression({ label, expression: search("AWS/Lambda", "FunctionName", label, statistic) });

  const total = (space: string, dimension: string, label: string): MathExpression =>
    new MathExpression({ label, expression: `SUM(${search(space, dimension, label, "Sum")})` });

  const database = (metricName: string): Metric => {
    const dimensionsMap = { DBClusterIdentifier: cluster.identifier };
    return new Metric({ namespace: "AWS/RDS", metricName, dimensionsMap, statistic: Stats.MAXIMUM });
  };

  /** Minutes in which the database resumes: its capacity rises from 0. */
  const resumes = new MathExpression({
    label: "resumes",
    expression: "IF(capacity > 0 AND capacity - DIFF(capacity) == 0, 1, 0)",
    usingMetrics: { capacity: database("ServerlessDatabaseCapacity") },
    period: Duration.minutes(1),
  });

  /** Failures that functions log. Lambda's own metric `Errors` does not count a function that returns 5xx. */
  const failuresByEndpoint = new MathExpression({
    label: "failures",
    expression: `SEARCH('{${namespace},endpoint} MetricName="${prefix}-failures"', 'Sum', 300)`,
  });

  /** Sign-ins that ended like this, as functions log it. */
  const signIns = (ending: Outcome): Metric => customMetric("sign-ins").with({ dimensionsMap: { ending } });

  return {
    customMetric,
    extract,
    api,
    failureRate,
    severalFailures,
    failuresByEndpoint,
    signIns,
    everyFunction,
    total,
    database,
    resumes,
  };
}
