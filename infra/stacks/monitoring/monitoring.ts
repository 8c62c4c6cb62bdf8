import { Duration } from "aws-cdk-lib";
import { MathExpression, Metric, Stats, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import type { Function as Lambda } from "aws-cdk-lib/aws-lambda";
import { CfnQueryDefinition, type LogGroup } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { requestsIn5Minutes } from "../../settings/traffic.ts";
import { failuresMin } from "../shared/metrics.ts";
import type { Stage } from "../shared/stage.ts";
import { type DistributionIds, sumOf } from "./cdn.ts";
import { addDashboard } from "./dashboard.ts";
import { savedQueries } from "./saved-queries.ts";

export interface MonitoringProps {
  readonly accessLog: LogGroup;
  readonly clusterIdentifier: string;
  /** The scheduled `ops-remove-images`, on a stage with uploads. */
  readonly removal: Lambda | undefined;
  /** The scheduled `ops-tidy`. */
  readonly tidying: Lambda;
  /** The stage's distributions of CloudFront, if it has any. */
  readonly distributions: DistributionIds;
  /** The scheduled `ops-smoke`, if the stage has the setting `smoke`. */
  readonly smoke: Lambda | undefined;
}

/**
 * Responses that take longer are slow. For a list only the time to its first byte counts. Cold starts, and requests while
 * the database gets more capacity, are faster than this.
 */
const slowMilliseconds = 3_000;

const bytesPerGigabyte = 1_000_000_000;

/** People try once more before they ask. */
const signInsUnavailableMin = 2;
/** In five minutes; above it they are no mistakes of single people any more. */
const signInsFailedMin = 20;

/** What a request logs (infra/costs.md), in all logs of a stage. */
const usualLogBytes = 1_200;
/** In an hour; less costs less than $23 a month, however many requests there are. */
const logBytesMin = 50_000_000;

/** The alarms, the dashboard and the saved queries of an API. */
export function monitor(stage: Stage, props: MonitoringProps): void {
  const { stack, prefix, log, settings } = stage;
  const scope = new Construct(stack, "Watch");
  addAlarms(stage, props);
  addDashboard(scope, stage, props);
  const names = { access: props.accessLog.logGroupName, functions: log.logGroupName };
  for (const { logs, queries } of savedQueries(settings)) {
    const logGroupNames = logs.map((each) => names[each]);
    for (const [name, queryString] of Object.entries(queries))
      new CfnQueryDefinition(scope, `Query-${name}`, { name: `${prefix}/${name}`, queryString, logGroupNames });
  }
}

function addAlarms(stage: Stage, { accessLog, smoke, ...props }: MonitoringProps): void {
  const { alarms, metrics, log: functionLog, settings } = stage;
  const { ledgerGigabytesADay } = settings;
  const requestsMax = requestsIn5Minutes(settings);
  // One on the rate of failures, for many requests, and one on their number, for few.
  alarms.add("failing-responses", {
    metric: metrics.failureRate.with({ period: Duration.minutes(1) }),
    impact:
      "Website and admin panel get 5xx responses, more than one in a hundred. Roll a new release back. See the saved query `errors`.",
    evaluationPeriods: 3,
    datapointsToAlarm: 2,
  });
  alarms.add("three-failures", {
    metric: metrics.severalFailures,
    impact: `At least ${failuresMin} responses were 5xx, or lists that broke off, within five minutes, and one in a thousand: few visitors see it, or few there are. Roll a new release back. See the saved query \`errors\`.`,
    threshold: 0.1,
  });
  metrics.extract(functionLog, "broken-lists", '{ ($.level = "error") && ($.broken IS TRUE) }');
  metrics.extract(functionLog, "failures", '{ $.level = "error" }', { dimensions: { endpoint: "$.endpoint" } });
  const alarmOnSlow = (name: string, metric: Metric, impact: string) =>
    alarms.add(name, { metric, impact, threshold: slowMilliseconds, evaluationPeriods: 3 });
  alarmOnSlow(
    "slow-responses",
    metrics.extract(accessLog, "latency", '{ ($.transfer = "BUFFERED") && ($.milliseconds = "*") }', {
      metricValue: "$.milliseconds",
      statistic: Stats.percentile(99),
    }),
    `One response in a hundred takes more than ${slowMilliseconds / 1_000} s. See the saved query \`slow\`, and the database's capacity.`,
  );
  alarmOnSlow(
    "slow-lists",
    metrics.extract(functionLog, "first-byte", '{ ($.streamed IS TRUE) && ($.durationInMilliseconds = "*") }', {
      metricValue: "$.durationInMilliseconds",
      statistic: Stats.percentile(99),
    }),
    `One list in a hundred takes more than ${slowMilliseconds / 1_000} s to begin. See the saved queries \`slow\` and \`lists\`, and the database's capacity.`,
  );
  // Once a day ops-tidy logs it.
  const ledgerBytes = metrics.extract(functionLog, "ledger-bytes", '{ $.ledgerBytesOfLastDay = "*" }', {
    metricValue: "$.ledgerBytesOfLastDay",
    statistic: Stats.MAXIMUM,
  });
  alarms.add("ledger-growing", {
    metric: ledgerBytes.with({ period: Duration.days(1) }),
    impact: `Within a day the ledger grew by ${ledgerGigabytesADay} GB or more, which the database and each backup keep for as long as changes are kept. An import is running, or a client creates records on purpose. The README says how to find out who.`,
    threshold: ledgerGigabytesADay * bytesPerGigabyte,
  });
  if (settings.signIn) addSignInAlarms(stage);
  alarms.add("throttled", {
    metric: metrics.extract(accessLog, "throttled", '{ $.status = "429" }'),
    impact: "Visitors get 429: an attacker floods the API, or the throttles of this stage have become too tight.",
    threshold: 50,
    evaluationPeriods: 2,
  });
  alarms.add("requests", {
    metric: metrics.api("Count"),
    impact: `API Gateway got ${requestsMax} requests or more in five minutes, for which this account pays: an attacker floods the API, or the edge caches no more. See \`ip\` and \`route\` in the access log.`,
    threshold: requestsMax,
  });
  alarms.add("functions-full", {
    // Lambda returns 429 to API Gateway when it has no concurrency left; the visitor gets 503.
    metric: metrics.extract(accessLog, "full", '{ $.integrationStatus = "429" }'),
    impact:
      "Visitors get 503, because as many functions run as may run at once: those of lists (streams.concurrent), of public records (publicRecords.concurrent) or of images (images.concurrent), or all of the account. The dashboard shows which; see the saved query `refused-by-the-gateway`.",
    threshold: 10,
  });
  if (smoke && settings.smoke) {
    alarms.add("smoke-failing", {
      metric: smoke.metricErrors({ period: Duration.minutes(settings.smoke.everyMinutes) }),
      impact:
        "A response that visitors get is wrong, missing or too old, or no test looks any more: ops-smoke fails, or does not run. Its log says which response.",
      treatMissingData: TreatMissingData.BREACHING,
      evaluationPeriods: 3,
      datapointsToAlarm: 2,
    });
  }
  alarms.add("log-volume", {
    metric: new MathExpression({
      label: "bytes of logs for each request",
      expression: `IF(FILL(functions, 0) + FILL(access, 0) >= ${logBytesMin}, (FILL(functions, 0) + FILL(access, 0)) / (FILL(requests, 0) + 1), 0)`,
      usingMetrics: { functions: bytesOf(functionLog), access: bytesOf(accessLog), requests: metrics.api("Count") },
      period: Duration.hours(1),
    }),
    impact:
      "Functions and API Gateway log ten times as much for each request as usual, for which this account pays: a function logs in a loop, or most requests fail. See the saved query `errors`, and the log's newest lines.",
    threshold: 10 * usualLogBytes,
  });
  addScheduleAlarm(stage, props);
}

const bytesOf = ({ logGroupName: LogGroupName }: LogGroup): Metric =>
  new Metric({
    namespace: "AWS/Logs",
    metricName: "IncomingBytes",
    dimensionsMap: { LogGroupName },
    statistic: Stats.SUM,
  });

/** Both run each day at least, and after a failure again. */
function addScheduleAlarm({ alarms }: Stage, { removal, tidying }: Pick<MonitoringProps, "removal" | "tidying">): void {
  const scheduled = Object.entries({ tidying, ...(removal ? { removal } : {}) });
  const terms = scheduled.map(([name]) => `FILL(${name}_errors, 0) + IF(FILL(${name}_runs, 0) > 0, 0, 1)`);
  const metrics = scheduled.flatMap(([name, lambda]) => [
    [`${name}_errors`, lambda.metricErrors()],
    [`${name}_runs`, lambda.metricInvocations()],
  ]);
  alarms.add("schedules-failing", {
    metric: new MathExpression({
      label: "failed and missing runs",
      expression: terms.join(" + "),
      usingMetrics: Object.fromEntries(metrics),
      period: Duration.days(1),
    }),
    impact:
      "What was changed and by whom, and images of deleted people, are kept for longer than promised: for two days ops-tidy or ops-remove-images has failed or has not run. Their logs say why.",
    evaluationPeriods: 2,
  });
}

function addSignInAlarms({ alarms, metrics, log }: Stage): void {
  metrics.extract(log, "sign-ins", '{ $.signIn = "*" }', { dimensions: { ending: "$.signIn" } });
  alarms.add("sign-in-unavailable", {
    metric: metrics.signIns("unavailable"),
    impact:
      "Users cannot sign in: the provider does not respond, or rejects this service's secret. Signed-in users stay signed in. The saved query `sign-ins` says why.",
    threshold: signInsUnavailableMin,
  });
  alarms.add("sign-ins-failing", {
    metric: sumOf(
      "invalid and denied",
      (["invalid", "denied"] as const).map((each) => [each, metrics.signIns(each)]),
    ),
    impact: `In five minutes ${signInsFailedMin} sign-ins or more were invalid or denied: an attacker tries to get in, or a wrong setting here or at the provider keeps all users out. The saved query \`sign-ins\` says why.`,
    threshold: signInsFailedMin,
  });
}
