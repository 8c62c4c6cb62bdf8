import { beforeAll, describe, expect, it } from "vitest";
import { settings } from "../../../../infra/stages.ts";
import { type Resource, type Template, useSynthesis } from "../synthesis.ts";

const synthesis = useSynthesis();

describe.each(settings.stages.filter(({ uploads }) => uploads))("What leaves the bucket of stage $name", (stage) => {
  let template: Template;
  let rule: Resource;
  let queue: Resource;

  beforeAll(() => {
    template = synthesis.template(`colophon-${stage.name}`);
    const rules = template.all("Events::Rule").filter(({ Properties }) => Properties.EventPattern);
    expect(rules).toHaveLength(1);
    [rule] = rules as [Resource];
    queue = template.find(rule.Properties.Targets[0].Arn);
  });

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
});
