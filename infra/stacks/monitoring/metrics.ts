import { Duration } from "aws-cdk-lib";
import { MathExpression, Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import type { Cluster } from "../database/database.ts";

/** In a minute: of fewer, one that failed is more than one in a hundred. */
const requestsMin = 20;
/** In five minutes: fewer happen. */
export const failuresMin = 3;

/** Where our own metrics are. */
const namespace = "Colophon";

export type Metrics = ReturnType<typeof metricsOf>;

/** What an API, its functions, their logs and its database are measured by. */
export function metricsOf(prefix: string, cluster: Cluster) {
  const named = (name: string) => ({ metricNamespace: namespace, metricName: `${prefix}-${name}` });

  /** What the filters of our logs find. */
  const own = (name: string, statistic: string): Metric => {
    const { metricNamespace, metricName } = named(name);
    return new Metric({ namespace: metricNamespace, metricName, statistic, period: Duration.minutes(5) });
  };

  /** Of the whole API, whichever stage: naming the stage would make it wait for its own alarms. */
  const api = (metricName: string, statistic: string, period = Duration.minutes(5)): Metric => {
    const dimensionsMap = { ApiName: prefix };
    return new Metric({ namespace: "AWS/ApiGateway", metricName, dimensionsMap, statistic, period });
  };

  const failureRate = (period = Duration.minutes(5)): MathExpression =>
    new MathExpression({
      label: "5xx, percent",
      expression: `IF(requests >= ${requestsMin}, 100 * failures / requests, 0)`,
      usingMetrics: {
        failures: api("5XXError", Stats.SUM, period),
        requests: api("Count", Stats.SUM, period),
      },
      period,
    });

  /** The share of answers that fail, in percent, as soon as they are several. */
  const severalFailures = (): MathExpression => {
    const failed = "(FILL(failures, 0) + FILL(broken, 0))";
    return new MathExpression({
      label: "5xx and broken lists, percent",
      expression: `IF(${failed} >= ${failuresMin}, 100 * ${failed} / requests, 0)`,
      usingMetrics: {
        failures: api("5XXError", Stats.SUM),
        broken: own("broken-lists", Stats.SUM),
        requests: api("Count", Stats.SUM),
      },
      period: Duration.minutes(5),
    });
  };

  /** Without quotes the prefix is looked for in the name; with them it would have to be the whole name. */
  const search = (space: string, dimension: string, metric: string, statistic: string): string => {
    const terms = `{${space},${dimension}} MetricName="${metric}" ${dimension}=${prefix}`;
    return `SEARCH('${terms}', '${statistic}', 300)`;
  };

  const everyFunction = (metric: string, statistic: string): MathExpression =>
    searching(search("AWS/Lambda", "FunctionName", metric, statistic), metric);

  const total = (space: string, dimension: string, metric: string): MathExpression =>
    searching(`SUM(${search(space, dimension, metric, "Sum")})`, metric);

  const database = (metricName: string): Metric => {
    const dimensionsMap = { DBClusterIdentifier: cluster.identifier };
    return new Metric({ namespace: "AWS/RDS", metricName, dimensionsMap, statistic: Stats.MAXIMUM });
  };

  /** Minutes in which the capacity rises from nothing. */
  const resumes = (): MathExpression =>
    new MathExpression({
      label: "resumes",
      expression: "IF(capacity > 0 AND capacity - DIFF(capacity) == 0, 1, 0)",
      usingMetrics: { capacity: database("ServerlessDatabaseCapacity").with({ period: Duration.minutes(1) }) },
      period: Duration.minutes(1),
    });

  /** What functions log as failed; what they answer is no error of theirs to Lambda. */
  const failuresByEndpoint = () =>
    searching(`SEARCH('{${namespace},endpoint} MetricName="${prefix}-failures"', 'Sum', 300)`, "failures");

  return {
    named,
    own,
    api,
    failureRate,
    severalFailures,
    failuresByEndpoint,
    everyFunction,
    total,
    database,
    resumes,
  };
}

const searching = (expression: string, label: string) =>
  new MathExpression({ expression, label, usingMetrics: {}, period: Duration.minutes(5) });
