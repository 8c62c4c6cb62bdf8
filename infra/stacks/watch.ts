import { Duration } from "aws-cdk-lib";
import {
  type Alarm,
  Dashboard,
  GraphWidget,
  type IMetric,
  LogQueryVisualizationType,
  LogQueryWidget,
  MathExpression,
  Metric,
  PeriodOverride,
  Stats,
} from "aws-cdk-lib/aws-cloudwatch";
import { CfnQueryDefinition, FilterPattern, type LogGroup } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import type { Alarms } from "./alarms.ts";
import type { Cluster } from "./database.ts";
import { queries } from "./queries.ts";
import type { ServiceFunction } from "./service-function.ts";

export interface WatchProps {
  /** The API's name, and what the names of its functions begin with. */
  readonly prefix: string;
  readonly cluster: Cluster;
  readonly alarms: Alarms;
}

interface Watched {
  /** The log of all functions. */
  readonly functionLog: LogGroup;
  readonly accessLog: LogGroup;
  /** The scheduled removal of images, where there is one. */
  readonly removal: ServiceFunction | undefined;
  /** The scheduled forgetting of what nobody needs any more. */
  readonly tidying: ServiceFunction;
  /** The scheduled questions to the API, where there are any. */
  readonly smoke: Scheduled | undefined;
}

export interface Scheduled {
  readonly serviceFunction: ServiceFunction;
  readonly every: Duration;
}

/** Until an answer begins, since lists may be as long as one likes; cold starts and a database that grows are below it. */
const slowMilliseconds = 3_000;
/** In a minute: of fewer, one that failed is more than one in a hundred. */
const requestsMin = 20;
/** In five minutes: fewer happen. */
const failuresMin = 3;

/** Where our own metrics are. */
const namespace = "Colophon";

/** Alarms, a dashboard and saved queries of an API. */
export class Watch extends Construct {
  /** Answers fail, in a rate that many requests show, or in a number that few do: the signs to take a release back. */
  readonly failures: readonly Alarm[];
  readonly #props: WatchProps;

  constructor(scope: Construct, id: string, props: WatchProps) {
    super(scope, id);
    this.#props = props;
    this.failures = [
      props.alarms.add("failing-answers", {
        metric: this.failureRate(Duration.minutes(1)),
        impact:
          "Website and admin panel get 5xx answers, more than one in a hundred. A release under way is taken back. See the saved query `errors`.",
        threshold: 1,
        periods: 3,
        badPeriods: 2,
      }),
      props.alarms.add("three-failures", {
        metric: this.severalFailures(),
        impact: `At least ${failuresMin} answers were 5xx, or lists that broke off, within five minutes, and one in a thousand: few visitors see it, or few there are. A release under way is taken back. See the saved query \`errors\`.`,
        threshold: 0.1,
        periods: 1,
      }),
    ];
  }

  over(watched: Watched): void {
    this.addAlarms(watched);
    this.addDashboard(watched);
    this.addQueries(watched);
  }

  private addAlarms({ accessLog, functionLog, removal, tidying, smoke }: Watched): void {
    const { alarms } = this.#props;
    accessLog.addMetricFilter("Latency", {
      ...this.named("latency"),
      filterPattern: FilterPattern.all(
        FilterPattern.stringValue("$.transfer", "=", "BUFFERED"),
        FilterPattern.exists("$.milliseconds"),
      ),
      metricValue: "$.milliseconds",
    });
    alarms.add("slow-answers", {
      metric: this.own("latency", Stats.percentile(99)),
      impact: `One answer in a hundred takes more than ${slowMilliseconds / 1_000} s. See the saved query \`slow\`, and the database's capacity.`,
      threshold: slowMilliseconds,
      periods: 3,
    });
    this.addListAlarms(functionLog);
    accessLog.addMetricFilter("Throttled", {
      ...this.named("throttled"),
      filterPattern: FilterPattern.stringValue("$.status", "=", "429"),
      defaultValue: 0,
    });
    alarms.add("throttled", {
      metric: this.own("throttled", Stats.SUM),
      impact:
        "Visitors are turned away with 429. Either somebody floods the API, or the throttles of this stage have become too tight.",
      threshold: 50,
      periods: 2,
    });
    // What Lambda itself answers API Gateway is not what the visitor is told.
    accessLog.addMetricFilter("Full", {
      ...this.named("full"),
      filterPattern: FilterPattern.stringValue("$.integrationStatus", "=", "429"),
      defaultValue: 0,
    });
    alarms.add("functions-full", {
      metric: this.own("full", Stats.SUM),
      impact:
        "Visitors are turned away because as many functions run as may run at once: those of lists (streams.concurrent), or all of the account. The dashboard shows which; see the saved query `refused-by-the-gateway`.",
      threshold: 10,
      periods: 1,
    });
    if (smoke) {
      alarms.add("smoke-failing", {
        metric: smoke.serviceFunction.lambda.metricErrors({ period: smoke.every }),
        impact:
          "An answer that visitors get is wrong or missing, or nobody looks any more: ops-smoke fails, or does not run. Its log says which answer.",
        threshold: 1,
        missingIsBad: true,
        periods: 3,
        badPeriods: 2,
      });
    }
    alarms.add("tidying-dead", {
      metric: tidying.lambda.metricInvocations({ period: Duration.days(1) }),
      impact: "What was changed and by whom is kept for longer than promised: ops-tidy has not run for two days.",
      threshold: 0,
      isFloor: true,
      periods: 2,
    });
    alarms.add("tidying-failing", {
      metric: tidying.lambda.metricErrors({ period: Duration.days(1) }),
      impact: "What was changed and by whom is kept for longer than promised: ops-tidy fails. Its log says why.",
      threshold: 1,
      periods: 2,
    });
    if (!removal) return;
    alarms.add("removal-dead", {
      metric: removal.lambda.metricInvocations({ period: Duration.days(1) }),
      impact: "Images of deleted people stay: the scheduled removal has not run for a day.",
      threshold: 0,
      isFloor: true,
      periods: 1,
    });
    alarms.add("removal-failing", {
      metric: removal.lambda.metricErrors({ period: Duration.hours(6) }),
      impact: "Images of deleted people stay: the scheduled removal fails. Its log says why.",
      threshold: 1,
      periods: 2,
    });
  }

  private addListAlarms(functionLog: LogGroup): void {
    const isError = FilterPattern.stringValue("$.level", "=", "error");
    functionLog.addMetricFilter("FirstByte", {
      ...this.named("first-byte"),
      filterPattern: FilterPattern.all(
        FilterPattern.booleanValue("$.streamed", true),
        FilterPattern.exists("$.durationInMilliseconds"),
      ),
      metricValue: "$.durationInMilliseconds",
    });
    this.#props.alarms.add("slow-lists", {
      metric: this.own("first-byte", Stats.percentile(99)),
      impact: `One list in a hundred takes more than ${slowMilliseconds / 1_000} s to begin. See the saved queries \`slow\` and \`lists\`, and the database's capacity.`,
      threshold: slowMilliseconds,
      periods: 3,
    });
    functionLog.addMetricFilter("BrokenLists", {
      ...this.named("broken-lists"),
      filterPattern: FilterPattern.all(isError, FilterPattern.booleanValue("$.broken", true)),
      defaultValue: 0,
    });
    functionLog.addMetricFilter("Failures", {
      ...this.named("failures"),
      filterPattern: isError,
      dimensions: { endpoint: "$.endpoint" },
    });
  }

  private addDashboard({ functionLog }: Watched): void {
    const { prefix } = this.#props;
    const half = (title: string, left: IMetric[], right: IMetric[] = []) =>
      new GraphWidget({ title, left, right, width: 12, height: 6 });
    const count = (title: string, query: string) =>
      new LogQueryWidget({
        title,
        logGroupNames: [functionLog.logGroupName],
        queryString: query,
        view: LogQueryVisualizationType.BAR,
        width: 12,
        height: 6,
      });
    new Dashboard(this, "Dashboard", {
      dashboardName: prefix,
      periodOverride: PeriodOverride.AUTO,
      widgets: [
        [
          half("Traffic", [this.api("Count", Stats.SUM)]),
          half("Errors", [this.api("4XXError", Stats.SUM), this.api("5XXError", Stats.SUM)], [this.failureRate()]),
        ],
        [
          half(
            "Latency",
            [50, 90, 99].map((each) => this.api("Latency", Stats.percentile(each))),
            [this.own("first-byte", Stats.percentile(99)).with({ label: "lists until they begin, p99" })],
          ),
          half("Latency by endpoint, p99", [this.everyFunction("Duration", "p99")]),
        ],
        [
          // What functions answer is no error of theirs to Lambda: their log counts it. Lambda counts those that end.
          half(
            "Failures by function",
            [searching(`SEARCH('{${namespace},endpoint} MetricName="${prefix}-failures"', 'Sum', 300)`, "failures")],
            [this.everyFunction("Errors", "Sum")],
          ),
          half(
            "Functions at once, and turned away",
            [this.everyFunction("ConcurrentExecutions", "Maximum")],
            [this.everyFunction("Throttles", "Sum")],
          ),
        ],
        [
          // A request is one call of the Data API, in all but a few endpoints.
          count("Requests that called the Data API, by endpoint", "filter status != 401 | stats count(*) by endpoint"),
          half("Database", [this.database("ACUUtilization")], [this.database("DatabaseConnections")]),
        ],
        [
          count("Cold starts", "filter cold = 1 | stats count(*) by endpoint"),
          half("Capacity and resumes from a pause", [this.database("ServerlessDatabaseCapacity")], [this.resumes()]),
        ],
        [
          half(
            "What costs: requests, milliseconds of functions, bytes of logs",
            [this.api("Count", Stats.SUM), this.total("AWS/Lambda", "FunctionName", "Duration")],
            [this.total("AWS/Logs", "LogGroupName", "IncomingBytes")],
          ),
        ],
      ],
    });
  }

  private addQueries({ functionLog, accessLog }: Watched): void {
    const functions = functionLog.logGroupName;
    const access = accessLog.logGroupName;
    for (const { name, text, of } of queries) {
      new CfnQueryDefinition(this, `Query-${name}`, {
        name: `${this.#props.prefix}/${name}`,
        queryString: text,
        logGroupNames: { access: [access], functions: [functions], both: [access, functions] }[of],
      });
    }
  }

  private named(name: string) {
    return { metricNamespace: namespace, metricName: `${this.#props.prefix}-${name}` };
  }

  /** What the filters of our logs find. */
  private own(name: string, statistic: string): Metric {
    const { metricNamespace, metricName } = this.named(name);
    return new Metric({ namespace: metricNamespace, metricName, statistic, period: Duration.minutes(5) });
  }

  /** Of the whole API, whichever stage: naming the stage would make it wait for its own alarms. */
  private api(metricName: string, statistic: string, period = Duration.minutes(5)): Metric {
    const dimensionsMap = { ApiName: this.#props.prefix };
    return new Metric({ namespace: "AWS/ApiGateway", metricName, dimensionsMap, statistic, period });
  }

  private failureRate(period = Duration.minutes(5)): MathExpression {
    return new MathExpression({
      label: "5xx, percent",
      expression: `IF(requests >= ${requestsMin}, 100 * failures / requests, 0)`,
      usingMetrics: {
        failures: this.api("5XXError", Stats.SUM, period),
        requests: this.api("Count", Stats.SUM, period),
      },
      period,
    });
  }

  /** The share of answers that fail, in percent, as soon as they are several. */
  private severalFailures(): MathExpression {
    const failed = "(FILL(failures, 0) + FILL(broken, 0))";
    return new MathExpression({
      label: "5xx and broken lists, percent",
      expression: `IF(${failed} >= ${failuresMin}, 100 * ${failed} / requests, 0)`,
      usingMetrics: {
        failures: this.api("5XXError", Stats.SUM),
        broken: this.own("broken-lists", Stats.SUM),
        requests: this.api("Count", Stats.SUM),
      },
      period: Duration.minutes(5),
    });
  }

  private everyFunction(metric: string, statistic: string): MathExpression {
    return searching(this.search("AWS/Lambda", "FunctionName", metric, statistic), metric);
  }

  private total(namespace: string, dimension: string, metric: string): MathExpression {
    return searching(`SUM(${this.search(namespace, dimension, metric, "Sum")})`, metric);
  }

  /** Without quotes the prefix is looked for in the name; with them it would have to be the whole name. */
  private search(namespace: string, dimension: string, metric: string, statistic: string): string {
    const terms = `{${namespace},${dimension}} MetricName="${metric}" ${dimension}=${this.#props.prefix}`;
    return `SEARCH('${terms}', '${statistic}', 300)`;
  }

  private database(metricName: string): Metric {
    const dimensionsMap = { DBClusterIdentifier: this.#props.cluster.identifier };
    return new Metric({ namespace: "AWS/RDS", metricName, dimensionsMap, statistic: Stats.MAXIMUM });
  }

  /** Minutes in which the capacity rises from nothing. */
  private resumes(): MathExpression {
    return new MathExpression({
      label: "resumes",
      expression: "IF(capacity > 0 AND capacity - DIFF(capacity) == 0, 1, 0)",
      usingMetrics: { capacity: this.database("ServerlessDatabaseCapacity").with({ period: Duration.minutes(1) }) },
      period: Duration.minutes(1),
    });
  }
}

const searching = (expression: string, label: string) =>
  new MathExpression({ expression, label, usingMetrics: {}, period: Duration.minutes(5) });
