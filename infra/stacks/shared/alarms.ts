import { Stack } from "aws-cdk-lib";
import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { type ITopic, Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Construct } from "constructs";

export interface AlarmProps {
  readonly metric: IMetric;
  /** Who is hurt, and what to look at first: the text of the mail. */
  readonly impact: string;
  /** It fires at this value, or below it where `isFloor`. */
  readonly threshold: number;
  readonly isFloor?: true;
  /** Also when there is nothing to be seen; a floor is always so. */
  readonly missingIsBad?: true;
  /** Of the last so many periods, how many must be bad. */
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
    // A policy of our own replaces the one that lets the account in, CloudWatch included.
    this.letPublish("cloudwatch.amazonaws.com");
  }

  /** Lets a service of AWS mail what happens in this account. */
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
      // What should come and does not is bad; where nothing fails there is nothing to count.
      treatMissingData: isFloor || missingIsBad ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    });
    const notify = new SnsAction(this.topic);
    alarm.addAlarmAction(notify);
    alarm.addOkAction(notify);
    return alarm;
  }
}
