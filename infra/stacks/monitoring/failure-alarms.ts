import { Duration } from "aws-cdk-lib";
import type { Alarm } from "aws-cdk-lib/aws-cloudwatch";
import type { Alarms } from "../shared/alarms.ts";
import { failuresMin, type Metrics } from "./metrics.ts";

/** The alarms that roll a release back: one on the rate of failures, for many requests, one on their number, for few. */
export const addFailureAlarms = (alarms: Alarms, metrics: Metrics): Alarm[] => [
  alarms.add("failing-answers", {
    metric: metrics.failureRate(Duration.minutes(1)),
    impact:
      "Website and admin panel get 5xx answers, more than one in a hundred. A release under way is taken back. See the saved query `errors`.",
    threshold: 1,
    evaluationPeriods: 3,
    datapointsToAlarm: 2,
  }),
  alarms.add("three-failures", {
    metric: metrics.severalFailures(),
    impact: `At least ${failuresMin} answers were 5xx, or lists that broke off, within five minutes, and one in a thousand: few visitors see it, or few there are. A release under way is taken back. See the saved query \`errors\`.`,
    threshold: 0.1,
    evaluationPeriods: 1,
  }),
];
