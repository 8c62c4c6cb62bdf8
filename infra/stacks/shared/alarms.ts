import { Stack } from "aws-cdk-lib";
import * as cloudwatch from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { EventField, type EventPattern, Rule, RuleTargetInput } from "aws-cdk-lib/aws-events";
import { SnsTopic } from "aws-cdk-lib/aws-events-targets";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { type ITopic, Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Construct } from "constructs";

/** Those of the CDK, and the text of the mail: what the failure means for users, and what to look at first. */
interface AlarmProps extends Partial<cloudwatch.AlarmProps> {
  readonly metric: cloudwatch.IMetric;
  readonly impact: string;
}

/** For what has to happen in each period: the alarm fires when it did not. */
export const isAbsent = {
  threshold: 0,
  comparisonOperator: cloudwatch.ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD,
  treatMissingData: cloudwatch.TreatMissingData.BREACHING,
};

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

  /**
   * Mails events of AWS services in the region of the stack.
   * @param message the text of the mail, with fields of the event: `{$.detail.state}`
   */
  mail(id: string, description: string, eventPattern: EventPattern, message: string): void {
    if (!this.node.tryFindChild("Mails")) this.letPublish("events.amazonaws.com");
    // An imported topic keeps the policy that it has.
    const topic = this.node.tryFindChild("Mails") ?? Topic.fromTopicArn(this, "Mails", this.topic.topicArn);
    const text = message.replace(/\{(\$\.[\w.]+)\}/g, (_, path) => EventField.fromPath(path));
    new Rule(this, id, {
      description,
      eventPattern,
      targets: [new SnsTopic(topic as ITopic, { message: RuleTargetInput.fromText(text) })],
    });
  }

  /** Mails that certificates, which are in the region of the stack, will end: ACM could not renew them. */
  mailExpiry(certificates: readonly string[]): void {
    const eventPattern = {
      source: ["aws.acm"],
      detailType: ["ACM Certificate Approaching Expiration"],
      resources: [...certificates],
    };
    this.mail(
      "Expiry",
      "Mails when a certificate is about to end",
      eventPattern,
      "The certificate of {$.detail.CommonName} ends in {$.detail.DaysToExpiry} days, and then browsers refuse it. ACM renews certificates 60 days before, unless their DNS record is gone or they were imported.",
    );
  }

  /** An alarm that fires once its metric reaches a threshold. A metric of errors has no data while nothing fails. */
  add(name: string, { impact, ...props }: AlarmProps): void {
    const alarm = new cloudwatch.Alarm(this, name, {
      alarmName: `${this.#prefix}-${name}`,
      alarmDescription: impact,
      comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
      threshold: 1,
      evaluationPeriods: 1,
      ...props,
    });
    const notify = new SnsAction(this.topic);
    alarm.addAlarmAction(notify);
    alarm.addOkAction(notify);
  }
}
