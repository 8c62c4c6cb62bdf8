import { CfnOutput, Duration, Stack, type StackProps } from "aws-cdk-lib";
import { CfnAccount } from "aws-cdk-lib/aws-apigateway";
import { CfnBudget } from "aws-cdk-lib/aws-budgets";
import { Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { ManagedPolicy, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { reservedConcurrency } from "../settings/checks.ts";
import type { AccountSettings, Settings } from "../settings/schema.ts";
import { acknowledge } from "./shared/acknowledge.ts";
import { Alarms } from "./shared/alarms.ts";

export interface AccountStackProps extends Pick<StackProps, "env" | "tags"> {
  readonly settings: Settings;
}

/** The share of the unreserved concurrency at which the alarm fires. */
const busyShare = 0.8;

/**
 * The resources that exist once in an account and region: the role by which API Gateway writes logs of all APIs, the
 * alarm on concurrency, and the budget.
 */
export class AccountStack extends Stack {
  constructor(scope: Construct, id: string, { settings, ...props }: AccountStackProps) {
    super(scope, id, {
      ...props,
      description: "Colophon: what there is once in an account and region",
      // Without the role below no API writes logs, and the alarms that read them would never fire.
      terminationProtection: settings.stages.some(({ isProtected }) => isProtected),
    });
    const role = new Role(this, "LogRole", {
      assumedBy: new ServicePrincipal("apigateway.amazonaws.com"),
      managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName("service-role/AmazonAPIGatewayPushToCloudWatchLogs")],
    });
    acknowledge(role, {
      "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]":
        "API Gateway takes no role for its logs that may do less than this policy of AWS. Only API Gateway can assume it.",
    });
    new CfnAccount(this, "Account", { cloudWatchRoleArn: role.roleArn });
    new CfnOutput(this, "LogRoleArn", { value: role.roleArn });
    const { account } = settings;
    this.addConcurrencyAlarm(id, settings);
    this.addBudget(account);
  }

  private addConcurrencyAlarm(prefix: string, { account, stages }: Settings): void {
    const { concurrency, alarmRecipient: recipient } = account;
    if (concurrency === undefined || recipient === undefined) return;
    const reserved = reservedConcurrency(stages);
    new Alarms(this, "Alarms", { prefix, recipient }).add("at-concurrency", {
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

  private addBudget({ budget }: AccountSettings): void {
    if (!budget) return;
    const { dollarsAMonth: amount, recipient: address } = budget;
    const notify = (notificationType: "ACTUAL" | "FORECASTED", threshold: number) => ({
      notification: { notificationType, threshold, comparisonOperator: "GREATER_THAN", thresholdType: "PERCENTAGE" },
      subscribers: [{ subscriptionType: "EMAIL", address }],
    });
    new CfnBudget(this, "Budget", {
      budget: { budgetType: "COST", timeUnit: "MONTHLY", budgetLimit: { amount, unit: "USD" } },
      notificationsWithSubscribers: [notify("ACTUAL", 80), notify("ACTUAL", 100), notify("FORECASTED", 100)],
    });
  }
}
