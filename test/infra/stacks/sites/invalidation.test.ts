import { beforeAll, describe, expect, it } from "vitest";
import { settings } from "../../../../infra/stages.ts";
import { type Resource, type Template, templateText, useSynthesis } from "../synthesis.ts";

const synthesis = useSynthesis();
const name = "ops-invalidate-images";

describe.each(settings.stages.filter(({ uploads }) => uploads))("What leaves the bucket of stage $name", (stage) => {
  let template: Template;
  let rule: Resource;
  let queue: Resource;
  let lambda: Resource | undefined;

  beforeAll(() => {
    template = synthesis.template(`colophon-${stage.name}`);
    const rules = template.all("Events::Rule").filter(({ Properties }) => Properties.EventPattern);
    expect(rules).toHaveLength(1);
    [rule] = rules as [Resource];
    queue = template.find(rule.Properties.Targets[0].Arn);
    lambda = template.all("Lambda::Function").find(({ Properties }) => Properties.FunctionName.endsWith(name));
  });

  const deadQueue = () => template.find(queue.Properties.RedrivePolicy.deadLetterTargetArn);

  it("sends an event to a queue, except for old versions that expire", () => {
    const { bucket, reason } = rule.Properties.EventPattern.detail;
    const bucketOf = template.find(bucket.name[0]);

    expect(rule.Properties.EventPattern).toMatchObject({ source: ["aws.s3"], "detail-type": ["Object Deleted"] });
    expect(reason).toEqual(["DeleteObject"]);
    expect(bucketOf.Properties.NotificationConfiguration).toEqual({
      EventBridgeConfiguration: { EventBridgeEnabled: true },
    });
    expect(bucketOf.Properties.VersioningConfiguration).toEqual({ Status: "Enabled" });
    expect(queue.Type).toBe("AWS::SQS::Queue");
  });

  it("comes from that rule alone, over TLS", () => {
    const policies = template.all("SQS::QueuePolicy").filter(({ Properties }) => {
      return Properties.Queues.some((each: unknown) => template.find(each).id === queue.id);
    });
    const statements = policies.flatMap(({ Properties }) => Properties.PolicyDocument.Statement);
    const allowing = statements.filter(({ Effect }) => Effect === "Allow");

    expect(allowing).toHaveLength(1);
    expect(allowing[0]).toMatchObject({ Principal: { Service: "events.amazonaws.com" } });
    expect(template.find(Object.values<Record<string, unknown>>(allowing[0].Condition)[0]?.["aws:SourceArn"]).id).toBe(
      rule.id,
    );
    expect(statements.filter(({ Effect }) => Effect === "Deny")).toMatchObject([
      { Condition: { Bool: { "aws:SecureTransport": "false" } } },
    ]);
  });

  it("is brought to the function in batches, and again for an hour when it fails, message by message", () => {
    const { BatchSize, EventSourceArn, FunctionName, ...mapping } =
      template.one("Lambda::EventSourceMapping").Properties;
    const { VisibilityTimeout, RedrivePolicy } = queue.Properties;

    expect(template.find(EventSourceArn).id).toBe(queue.id);
    expect(template.find(FunctionName).id).toBe(lambda?.id);
    expect(mapping).toEqual({
      FunctionResponseTypes: ["ReportBatchItemFailures"],
      MaximumBatchingWindowInSeconds: 10,
      ScalingConfig: { MaximumConcurrency: 2 },
    });
    // CloudFront takes 3,000 at a time.
    expect(BatchSize * mapping.ScalingConfig.MaximumConcurrency).toBeLessThanOrEqual(3_000);
    expect(VisibilityTimeout).toBeGreaterThanOrEqual(6 * lambda?.Properties.Timeout);
    expect(VisibilityTimeout * RedrivePolicy.maxReceiveCount).toBeGreaterThanOrEqual(3_600);
  });

  it("is kept for two weeks when it was given up, and an alarm tells", () => {
    const alarm = template.all("CloudWatch::Alarm").find(({ Properties }) => {
      return Properties.AlarmName === `colophon-${stage.name}-removed-images-served`;
    });
    const watched = alarm?.Properties.Metrics.flatMap(({ MetricStat }: Resource["Properties"]) =>
      MetricStat ? [[MetricStat.Metric.MetricName, template.find(MetricStat.Metric.Dimensions[0].Value).id]] : [],
    );

    expect(deadQueue().Properties).toMatchObject({ MessageRetentionPeriod: 1_209_600, SqsManagedSseEnabled: true });
    expect(queue.Properties).toMatchObject({ MessageRetentionPeriod: 1_209_600, SqsManagedSseEnabled: true });
    expect(watched.sort()).toEqual([
      ["ApproximateAgeOfOldestMessage", queue.id],
      ["ApproximateNumberOfMessagesVisible", deadQueue().id],
    ]);
  });

  it("is forgotten by the CDN of the images", () => {
    const distribution = template.find(lambda?.Properties.Environment.Variables.IMAGE_DISTRIBUTION);

    expect(distribution.Properties.DistributionConfig.Aliases).toEqual([stage.imageDomain]);
    expect(templateText(lambda?.Properties.Environment.Variables.IMAGE_DISTRIBUTION)).toBe(`\${${distribution.id}}`);
  });

  it("takes no function that may change the notifications of every bucket", () => {
    const custom = template.resources.map(({ Type }) => Type).filter((each) => each.startsWith("Custom::"));
    expect(custom).toEqual(["Custom::Release"]);
  });
});
