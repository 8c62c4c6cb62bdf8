import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Metric } from "aws-cdk-lib/aws-cloudwatch";
import { describe, expect, it } from "vitest";
import { Alarms } from "../../../infra/stacks/shared/alarms.ts";

const pager = "arn:aws:sns:eu-central-1:123456789012:pager";
const chat = "arn:aws:sns:us-east-1:123456789012:chat";

/** A stack in eu-central-1 with an alarm and a mail for these recipients. */
function templateFor(recipients: string | readonly string[]) {
  const env = { account: "123456789012", region: "eu-central-1" };
  const stack = new Stack(new App({ analyticsReporting: false }), "stack", { env });
  const alarms = new Alarms(stack, "Alarms", { prefix: "test", recipients });
  alarms.add("slow", { metric: new Metric({ namespace: "Test", metricName: "Slow" }), impact: "It is slow" });
  alarms.mail("Failed", "Mails failures", { source: ["aws.backup"] }, "Failed: {$.detail.state}");
  const { Resources } = Template.fromStack(stack).toJSON();
  const all = (type: string) =>
    Object.values<{ Type: string; Properties: Record<string, unknown> }>(Resources)
      .filter(({ Type }) => Type === type)
      .map(({ Properties }) => Properties);
  return {
    addresses: all("AWS::SNS::Subscription").map(({ Endpoint }) => Endpoint),
    actions: all("AWS::CloudWatch::Alarm").map(({ AlarmActions, OKActions }) => [AlarmActions, OKActions]),
    targets: all("AWS::Events::Rule").flatMap(({ Targets }) => (Targets as { Arn: unknown }[]).map(({ Arn }) => Arn)),
    topics: all("AWS::SNS::Topic").length,
  };
}

describe("Alarms", () => {
  const own = { Ref: expect.stringMatching(/^AlarmsTopic/) };

  it.each([
    { where: "to an address", recipients: "a@example.com", addresses: ["a@example.com"], topics: [own] },
    {
      where: "to several addresses",
      recipients: ["a@example.com", "b@example.com"],
      addresses: ["a@example.com", "b@example.com"],
      topics: [own],
    },
    { where: "to a topic, and mail nobody", recipients: pager, addresses: [], topics: [pager] },
    {
      where: "to an address and a topic, and to none of another region",
      recipients: ["a@example.com", pager, chat],
      addresses: ["a@example.com"],
      topics: [own, pager],
    },
  ] as const)("and events go $where", ({ recipients, addresses, topics }) => {
    expect(templateFor(recipients)).toEqual({
      addresses,
      actions: [[topics, topics]],
      targets: topics,
      topics: addresses.length > 0 ? 1 : 0,
    });
  });
});
