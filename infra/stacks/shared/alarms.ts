import { Stack } from "aws-cdk-lib";
import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { type ITopic, Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Construct } from "constructs";

export interface AlarmProps {
  readonly metric: IMetric;
  /** The text of the mail: what the failure means for users, and what to look at first. */
  readonly impact: string;
  /** The alarm fires at this value and above it; with `isFloor`, at this value and below it. */
  readonly threshold: number;
  readonly isFloor?: true;
  /** Missing data count as bad, too. With `isFloor` they always do. */
  readonly missingIsBad?: true;
  /** The number of periods to look at, and how many of them must be bad; by default all. */
  readonly periods: number;
  readonly badPeriods?: number;
}

/** The alarms of a stack, and the topic that mails them. */
export class Alarms extends Construct {
  readonly topic: ITopic;
  readonly #prefix: string;

  constructor(
    scope: Construct,
    id: string,
    { prefix, recipient }: { readonly prefix: string; readonly recipient: string },
  ) {
    super(scope, id);
    this.#prefix = prefix;
    this.topic = new Topic(this, "Topic", { displayName: `${prefix} alarms`, enforceSSL: true }) as ITopic;
    this.topic.addSubscription(new EmailSubscription(recipient));
    // This policy replaces the default one, which would allow the whole account, CloudWatch included.
    this.letPublish("cloudwatch.amazonaws.com");
  }

  /** Allows an AWS service to publish events of this account to the topic. */
  letPublish(service: string): void {
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal(service)],
        actions: ["sns:Publish"],
        resources: [this.topic.topicArn],
        conditions: { StringEquals: { "aws:SourceAccount": Stack.of(this).account } },
      }),
    );
  }

  add(
    name: string,
    { metric, impact, threshold, isFloor, missingIsBad, periods, badPeriods = periods }: AlarmProps,
  ): Alarm {
    const alarm = new Alarm(this, name, {
      alarmName: `${this.#prefix}-${name}`,
      alarmDescription: impact,
      metric,
      threshold,
      comparisonOperator: isFloor
        ? ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD
        : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: periods,
      datapointsToAlarm: badPeriods,
      // A metric of errors has no data while nothing fails, so missing data are good unless the alarm says otherwise.
      treatMissingData: isFloor || missingIsBad ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    });
    const notify = new SnsAction(this.topic);
    alarm.addAlarmAction(notify);
    alarm.addOkAction(notify);
    return alarm;
  }
}
