import { Stack } from "aws-cdk-lib";
import * as cloudwatch from "aws-cdk-lib/aws-cloudwatch";
import { EventField, type EventPattern, Rule, RuleTargetInput } from "aws-cdk-lib/aws-events";
import { SnsTopic } from "aws-cdk-lib/aws-events-targets";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { type ITopic, Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Construct } from "constructs";
import { isTopic, type Recipients, regionOf } from "../../settings/recipients.ts";

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

/** The alarms of a stack, and the topics that get them: one of its own, which mails, and those of operators. */
export class Alarms extends Construct {
  readonly topicArns: readonly string[];
  readonly #prefix: string;
  readonly #own: ITopic | undefined;

  constructor(
    scope: Construct,
    id: string,
    { prefix, recipients }: { readonly prefix: string; readonly recipients: Recipients },
  ) {
    super(scope, id);
    this.#prefix = prefix;
    const all = [recipients].flat();
    const addresses = all.filter((each) => !isTopic(each));
    if (addresses.length > 0) {
      this.#own = new Topic(this, "Topic", { displayName: `${prefix} alarms`, enforceSSL: true }) as ITopic;
      for (const address of addresses) this.#own.addSubscription(new EmailSubscription(address));
    }
    const given = all.filter((each) => isTopic(each) && regionOf(each) === Stack.of(this).region);
    this.topicArns = [...(this.#own ? [this.#own.topicArn] : []), ...given];
    // This policy replaces the default one, which would allow the whole account, CloudWatch included.
    this.letPublish("cloudwatch.amazonaws.com");
  }

  /** Allows an AWS service to publish events of this account to the stack's own topic. Others' policies are their owners'. */
  letPublish(service: string): void {
    if (!this.#own) return;
    this.#own.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal(service)],
        actions: ["sns:Publish"],
        resources: [this.#own.topicArn],
        conditions: { StringEquals: { "aws:SourceAccount": Stack.of(this).account } },
      }),
    );
  }

  /** The topics as imported ones, which keep the policies that they have. */
  get #topics(): ITopic[] {
    return this.topicArns.map((arn, index) => {
      const id = `Mails${index || ""}`;
      return (this.node.tryFindChild(id) as ITopic | undefined) ?? Topic.fromTopicArn(this, id, arn);
    });
  }

  /**
   * Mails events of AWS services in the region of the stack.
   * @param message the text of the mail, with fields of the event: `{$.detail.state}`
   */
  mail(id: string, description: string, eventPattern: EventPattern, message: string): void {
    if (!this.node.tryFindChild("Mails")) this.letPublish("events.amazonaws.com");
    const text = message.replace(/\{(\$\.[\w.]+)\}/g, (_, path) => EventField.fromPath(path));
    new Rule(this, id, {
      description,
      eventPattern,
      targets: this.#topics.map((topic) => new SnsTopic(topic, { message: RuleTargetInput.fromText(text) })),
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
    const notify = this.topicArns.map((alarmActionArn) => ({ bind: () => ({ alarmActionArn }) }));
    alarm.addAlarmAction(...notify);
    alarm.addOkAction(...notify);
  }
}
