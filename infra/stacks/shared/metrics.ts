import { MathExpression, Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { FilterPattern, type LogGroup, type MetricFilterOptions } from "aws-cdk-lib/aws-logs";
import type { Outcome } from "../../../lib/sign-in/failure.ts";

/** Requests in a minute below which the rate of failures counts as 0: one failure would be more than 1 %. */
const requestsMin = 20;
/** Failures in five minutes below which no alarm fires. */
export const failuresMin = 3;

/** The namespace of our custom metrics. */
export const namespace = "Colophon";

interface Extraction extends Pick<MetricFilterOptions, "metricValue" | "dimensions"> {
  /** @default the sum */
  readonly statistic?: string;
}

/** The metrics of an API and of its logs, of five minutes each. An expression's period is that of all its metrics. */
export function metricsOf(prefix: string) {
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

  /** Sign-ins that ended like this, as functions log it. */
  const signIns = (ending: Outcome): Metric => customMetric("sign-ins").with({ dimensionsMap: { ending } });

  return { customMetric, extract, api, failureRate, severalFailures, signIns };
}
