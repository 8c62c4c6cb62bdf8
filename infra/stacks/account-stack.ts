import { CfnOutput, Duration, type Stack } from "aws-cdk-lib";
import { CfnAccount } from "aws-cdk-lib/aws-apigateway";
import { CfnBudget } from "aws-cdk-lib/aws-budgets";
import { CfnAnomalySubscription } from "aws-cdk-lib/aws-ce";
import { Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { reservedConcurrency } from "../settings/concurrency.ts";
import type { AccountSettings, Settings } from "../settings/schema.ts";
import { Alarms } from "./shared/alarms.ts";
import { makeServiceRole } from "./shared/role.ts";

/** The share of the unreserved concurrency at which the alarm fires. */
const busyShare = 0.8;

/**
 * The resources that exist once in an account and region: the role by which API Gateway writes logs of all APIs, the
 * alarm on concurrency, the budget, and what looks for unusual costs.
 */
export function addAccount(stack: Stack, settings: Settings): void {
  const { roleArn } = makeServiceRole(
    stack,
    "LogRole",
    "apigateway.amazonaws.com",
    "AmazonAPIGatewayPushToCloudWatchLogs",
    "API Gateway takes no role for its logs that may do less than this policy of AWS. Only API Gateway can assume it.",
  );
  new CfnAccount(stack, "Account", { cloudWatchRoleArn: roleArn });
  new CfnOutput(stack, "LogRoleArn", { value: roleArn });
  addConcurrencyAlarm(stack, settings);
  addBudget(stack, settings.account);
}

function addConcurrencyAlarm(stack: Stack, { account, stages }: Settings): void {
  const { concurrency, alarmRecipient: recipients } = account;
  if (concurrency === undefined || recipients === undefined) return;
  const reserved = reservedConcurrency(stages);
  new Alarms(stack, "Alarms", { prefix: stack.stackName, recipients }).add("at-concurrency", {
    // What functions reserve, whether they run or not, and the executions of all others (Lambda, "Concurrency metrics").
    metric: new Metric({
      namespace: "AWS/Lambda",
      metricName: "ClaimedAccountConcurrency",
      statistic: Stats.MAXIMUM,
      period: Duration.minutes(1),
    }),
    impact: `Lambda is about to throttle the panel and every other function without reserved concurrency: of the ${concurrency - reserved} that the stages do not reserve, ${100 * busyShare} % are in use. The dashboards show which functions run.`,
    threshold: reserved + busyShare * (concurrency - reserved),
    evaluationPeriods: 3,
    datapointsToAlarm: 2,
  });
}

function addBudget(stack: Stack, { budget }: AccountSettings): void {
  if (!budget) return;
  const { dollarsAMonth: amount, recipient: address, anomalyDollars, anomalyMonitor } = budget;
  const notify = (notificationType: "ACTUAL" | "FORECASTED", threshold: number) => ({
    notification: { notificationType, threshold, comparisonOperator: "GREATER_THAN", thresholdType: "PERCENTAGE" },
    subscribers: [{ subscriptionType: "EMAIL", address }],
  });
  new CfnBudget(stack, "Budget", {
    budget: { budgetType: "COST", timeUnit: "MONTHLY", budgetLimit: { amount, unit: "USD" } },
    notificationsWithSubscribers: [notify("ACTUAL", 80), notify("ACTUAL", 100), notify("FORECASTED", 100)],
  });
  if (!anomalyMonitor) return;
  new CfnAnomalySubscription(stack, "UnusualCosts", {
    subscriptionName: `colophon-${stack.region}`,
    monitorArnList: [anomalyMonitor],
    // A mail comes at most once a day.
    frequency: "DAILY",
    subscribers: [{ type: "EMAIL", address }],
    thresholdExpression: JSON.stringify({
      Dimensions: {
        Key: "ANOMALY_TOTAL_IMPACT_ABSOLUTE",
        MatchOptions: ["GREATER_THAN_OR_EQUAL"],
        Values: [`${anomalyDollars}`],
      },
    }),
  });
}
