import { Duration } from "aws-cdk-lib";
import { type Alarm, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { CfnQueryDefinition, FilterPattern, type LogGroup } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import type { Cluster } from "../database/database.ts";
import type { Alarms } from "../shared/alarms.ts";
import type { ServiceFunction } from "../shared/service-function.ts";
import { addDashboard } from "./dashboard.ts";
import { failuresMin, type Metrics, metricsOf } from "./metrics.ts";
import { savedQueries } from "./saved-queries.ts";

export interface MonitoringProps {
  /** The API's name, and the prefix of its functions' names. */
  readonly prefix: string;
  readonly cluster: Cluster;
  readonly alarms: Alarms;
  readonly ledgerGigabytesADay: number;
}

interface MonitoredResources {
  /** The log of all functions. */
  readonly functionLog: LogGroup;
  readonly accessLog: LogGroup;
  /** The scheduled `ops-remove-images`, on a stage with uploads. */
  readonly removal: ServiceFunction | undefined;
  /** The scheduled `ops-tidy`. */
  readonly tidying: ServiceFunction;
  /** The scheduled `ops-smoke`, if the stage has the setting `smoke`. */
  readonly smoke: Scheduled | undefined;
}

export interface Scheduled {
  readonly serviceFunction: ServiceFunction;
  readonly every: Duration;
}

/**
 * Answers that take longer are slow. For a list only the time to its first byte counts. Cold starts, and requests while
 * the database gets more capacity, are faster than this.
 */
const slowMilliseconds = 3_000;

const bytesPerGigabyte = 1_000_000_000;

/** The alarms, the dashboard and the saved queries of an API. */
export class Monitoring extends Construct {
  /**
   * The alarms that roll a release back: one on the rate of failures, for many requests, one on their number, for few.
   */
  readonly failures: readonly Alarm[];
  readonly #props: MonitoringProps;
  readonly #metrics: Metrics;

  constructor(scope: Construct, id: string, props: MonitoringProps) {
    super(scope, id);
    this.#props = props;
    this.#metrics = metricsOf(props.prefix, props.cluster);
    const metrics = this.#metrics;
    this.failures = [
      props.alarms.add("failing-answers", {
        metric: metrics.failureRate(Duration.minutes(1)),
        impact:
          "Website and admin panel get 5xx answers, more than one in a hundred. A release under way is taken back. See the saved query `errors`.",
        threshold: 1,
        periods: 3,
        badPeriods: 2,
      }),
      props.alarms.add("three-failures", {
        metric: metrics.severalFailures(),
        impact: `At least ${failuresMin} answers were 5xx, or lists that broke off, within five minutes, and one in a thousand: few visitors see it, or few there are. A release under way is taken back. See the saved query \`errors\`.`,
        threshold: 0.1,
        periods: 1,
      }),
    ];
  }

  monitor(resources: MonitoredResources): void {
    this.addAlarms(resources);
    const { prefix: name } = this.#props;
    addDashboard(this, { name, metrics: this.#metrics, functionLog: resources.functionLog });
    this.addSavedQueries(resources);
  }

  private addAlarms({ accessLog, functionLog, removal, tidying, smoke }: MonitoredResources): void {
    const { alarms } = this.#props;
    const metrics = this.#metrics;
    accessLog.addMetricFilter("Latency", {
      ...metrics.customMetricName("latency"),
      filterPattern: FilterPattern.all(
        FilterPattern.stringValue("$.transfer", "=", "BUFFERED"),
        FilterPattern.exists("$.milliseconds"),
      ),
      metricValue: "$.milliseconds",
    });
    alarms.add("slow-answers", {
      metric: metrics.customMetric("latency", Stats.percentile(99)),
      impact: `One answer in a hundred takes more than ${slowMilliseconds / 1_000} s. See the saved query \`slow\`, and the database's capacity.`,
      threshold: slowMilliseconds,
      periods: 3,
    });
    this.addListAlarms(functionLog);
    this.addLedgerAlarm(functionLog);
    accessLog.addMetricFilter("Throttled", {
      ...metrics.customMetricName("throttled"),
      filterPattern: FilterPattern.stringValue("$.status", "=", "429"),
      defaultValue: 0,
    });
    alarms.add("throttled", {
      metric: metrics.customMetric("throttled", Stats.SUM),
      impact:
        "Visitors are turned away with 429. Either somebody floods the API, or the throttles of this stage have become too tight.",
      threshold: 50,
      periods: 2,
    });
    // Lambda answers API Gateway 429 when it has no concurrency left; the visitor gets 503.
    accessLog.addMetricFilter("Full", {
      ...metrics.customMetricName("full"),
      filterPattern: FilterPattern.stringValue("$.integrationStatus", "=", "429"),
      defaultValue: 0,
    });
    alarms.add("functions-full", {
      metric: metrics.customMetric("full", Stats.SUM),
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
    const metrics = this.#metrics;
    const isError = FilterPattern.stringValue("$.level", "=", "error");
    functionLog.addMetricFilter("FirstByte", {
      ...metrics.customMetricName("first-byte"),
      filterPattern: FilterPattern.all(
        FilterPattern.booleanValue("$.streamed", true),
        FilterPattern.exists("$.durationInMilliseconds"),
      ),
      metricValue: "$.durationInMilliseconds",
    });
    this.#props.alarms.add("slow-lists", {
      metric: metrics.customMetric("first-byte", Stats.percentile(99)),
      impact: `One list in a hundred takes more than ${slowMilliseconds / 1_000} s to begin. See the saved queries \`slow\` and \`lists\`, and the database's capacity.`,
      threshold: slowMilliseconds,
      periods: 3,
    });
    functionLog.addMetricFilter("BrokenLists", {
      ...metrics.customMetricName("broken-lists"),
      filterPattern: FilterPattern.all(isError, FilterPattern.booleanValue("$.broken", true)),
      defaultValue: 0,
    });
    functionLog.addMetricFilter("Failures", {
      ...metrics.customMetricName("failures"),
      filterPattern: isError,
      dimensions: { endpoint: "$.endpoint" },
    });
  }

  private addLedgerAlarm(functionLog: LogGroup): void {
    const metrics = this.#metrics;
    const { alarms, ledgerGigabytesADay } = this.#props;
    // Once a day ops-tidy logs it.
    functionLog.addMetricFilter("LedgerBytes", {
      ...metrics.customMetricName("ledger-bytes"),
      filterPattern: FilterPattern.exists("$.ledgerBytesOfLastDay"),
      metricValue: "$.ledgerBytesOfLastDay",
    });
    alarms.add("ledger-growing", {
      metric: metrics.customMetric("ledger-bytes", Stats.MAXIMUM).with({ period: Duration.days(1) }),
      impact: `Within a day the ledger grew by ${ledgerGigabytesADay} GB or more, which the database and each backup keep for as long as changes are kept: somebody imports a lot, or fills it on purpose. The README says how to find out who.`,
      threshold: ledgerGigabytesADay * bytesPerGigabyte,
      periods: 1,
    });
  }

  private addSavedQueries({ functionLog, accessLog }: MonitoredResources): void {
    const functions = functionLog.logGroupName;
    const access = accessLog.logGroupName;
    for (const { name, text, of } of savedQueries) {
      new CfnQueryDefinition(this, `Query-${name}`, {
        name: `${this.#props.prefix}/${name}`,
        queryString: text,
        logGroupNames: { access: [access], functions: [functions], both: [access, functions] }[of],
      });
    }
  }
}
