import { beforeAll, describe, expect, it } from "vitest";
import { settingsSchema } from "../../../infra/settings/settings.ts";
import { settings } from "../../../infra/stages.ts";
import { type Properties, synthesize, type Template, templateText, useSynthesis } from "./synthesis.ts";

const synthesis = useSynthesis();
const { region } = settings.account;

const alarmOf = (template: Template, name: string): Properties =>
  template.all("CloudWatch::Alarm").find(({ Properties }) => Properties.AlarmName === name)?.Properties ??
  expect.fail(`No alarm is called ${name}`);

/** An alarm's metrics of CloudFront, by the outputs of the stage that name the distributions. */
const metricsOf = ({ Metrics }: Properties) =>
  (Metrics as Properties[]).flatMap(({ MetricStat }) => {
    if (!MetricStat) return [];
    const { Metric, Period, Stat } = MetricStat;
    const [distribution, everywhere, ...others] = Metric.Dimensions;
    expect([Metric.Namespace, everywhere, others]).toEqual(["AWS/CloudFront", { Name: "Region", Value: "Global" }, []]);
    const { StackName, OutputName, Region } = distribution.Value["Fn::GetStackOutput"];
    expect([distribution.Name, StackName, Region]).toEqual(["DistributionId", "colophon-prod", region]);
    return [[OutputName, Metric.MetricName, Stat, Period]];
  });

/** Whether an alarm fires for these values of its metrics. */
function fires({ Metrics, Threshold }: Properties, values: Readonly<Record<string, number | undefined>>): boolean {
  const { Expression } = (Metrics as Properties[]).find((each) => each.Expression) ?? {};
  const FILL = (value: number | undefined, other: number) => value ?? other;
  const IF = (condition: boolean, value: number, other: number) => (condition ? value : other);
  return (
    new Function("FILL", "IF", ...Object.keys(values), `return ${Expression}`)(FILL, IF, ...Object.values(values)) >=
    Threshold
  );
}

describe("The alarms on CloudFront", () => {
  let alarms: Template;
  let stage: Template;

  beforeAll(() => {
    alarms = synthesis.template("colophon-prod-eu-central-1-cdn-alarms");
    stage = synthesis.template("colophon-prod");
  });

  it("watch the stage's own distributions", () => {
    expect(stage.find(stage.Outputs.EdgeDistribution.Value).Properties.DistributionConfig.Aliases).toEqual([
      "api.example.com",
    ]);
    expect(stage.find(stage.Outputs.ImageDistribution.Value).Properties.DistributionConfig.Aliases).toEqual([
      "images.example.com",
    ]);
  });

  it.each([
    ["edge", "EdgeDistribution"],
    ["images", "ImageDistribution"],
  ])("fire when more than one answer in a hundred is 5xx: %s", (name, output) => {
    const alarm = alarmOf(alarms, `colophon-prod-eu-central-1-${name}-failing`);

    expect(metricsOf(alarm)).toEqual([
      [output, "5xxErrorRate", "Average", 300],
      [output, "Requests", "Sum", 300],
    ]);
    expect(fires(alarm, { requests: 100, rate: 1 })).toBe(true);
    expect(fires(alarm, { requests: 100, rate: 0.9 })).toBe(false);
    expect(fires(alarm, { requests: 99, rate: 100 })).toBe(false);
  });

  it.each([
    ["bytes", "BytesDownloaded", 20_000_000_000],
    ["requests", "Requests", 1_000_000],
  ])("fire when both together cost more %s an hour than the settings allow", (name, metric, most) => {
    const alarm = alarmOf(alarms, `colophon-prod-eu-central-1-cdn-${name}`);

    expect(metricsOf(alarm)).toEqual([
      ["EdgeDistribution", metric, "Sum", 3_600],
      ["ImageDistribution", metric, "Sum", 3_600],
    ]);
    expect(fires(alarm, { edge: most - 1, images: undefined })).toBe(false);
    expect(fires(alarm, { edge: undefined, images: most })).toBe(true);
    expect(fires(alarm, { edge: most / 2, images: most / 2 })).toBe(true);
  });

  it("fire when the firewall blocks as much as the settings say, for ten minutes", () => {
    const alarm = alarmOf(alarms, "colophon-prod-eu-central-1-firewall-blocking");
    const { Name, VisibilityConfig } = synthesis
      .template("colophon-prod-eu-central-1-firewall")
      .one("WAFv2::WebACL").Properties;

    expect((alarm.Metrics as Properties[]).flatMap(({ MetricStat }) => MetricStat ?? [])).toEqual([
      {
        // Without `Region`, which metrics of regional web ACLs have (AWS WAF, "AWS WAF metrics and dimensions").
        Metric: {
          Namespace: "AWS/WAFV2",
          MetricName: "BlockedRequests",
          Dimensions: [
            { Name: "Rule", Value: "ALL" },
            { Name: "WebACL", Value: Name },
          ],
        },
        Period: 300,
        Stat: "Sum",
      },
    ]);
    expect(VisibilityConfig).toMatchObject({ CloudWatchMetricsEnabled: true, MetricName: Name });
    expect(fires(alarm, { edge: 100 })).toBe(true);
    expect(fires(alarm, { edge: 99 })).toBe(false);
    expect(fires(alarm, { edge: undefined })).toBe(false);
    expect(alarm.EvaluationPeriods).toBe(2);
    expect(templateText(stage.one("CloudWatch::Dashboard").Properties.DashboardBody).replaceAll("\\", "")).toContain(
      `SEARCH('{AWS/WAFV2,Rule,WebACL} MetricName=("BlockedRequests" OR "CountedRequests") WebACL="${Name}"', 'Sum', 300)","region":"us-east-1"`,
    );
  });

  it("come with a mail when ACM could not renew a certificate of theirs", () => {
    const { EventPattern, Targets } = alarms.one("Events::Rule").Properties;
    const { edge, imageCertificate } = settings.stages.find(({ name }) => name === "prod") ?? {};

    expect(EventPattern).toEqual({
      source: ["aws.acm"],
      "detail-type": ["ACM Certificate Approaching Expiration"],
      resources: [edge?.certificate, imageCertificate],
    });
    expect(alarms.find(Targets[0].Arn)).toBe(alarms.one("SNS::Topic"));
  });

  it("watch the images alone where the API has no edge, by the stage's own settings", { timeout: 90_000 }, async () => {
    const stages = settings.stages.map(({ edge: _, signIn: __, ...each }) => ({ ...each, cdnGigabytesAnHour: 2.5 }));
    const { template, remove } = await synthesize(synthesis.functions, settingsSchema.parse({ ...settings, stages }));
    const images = template("colophon-prod-eu-central-1-cdn-alarms");
    await remove();

    expect(
      images
        .all("CloudWatch::Alarm")
        .map(({ Properties }) => Properties.AlarmName)
        .sort(),
    ).toEqual(
      ["cdn-bytes", "cdn-requests", "firewall-blocking", "images-failing"].map(
        (each) => `colophon-prod-eu-central-1-${each}`,
      ),
    );
    expect(JSON.stringify(alarmOf(images, "colophon-prod-eu-central-1-firewall-blocking"))).toContain(
      '"colophon-prod-eu-central-1-images"',
    );
    const bytes = alarmOf(images, "colophon-prod-eu-central-1-cdn-bytes");
    expect(bytes.Threshold).toBe(2_500_000_000);
    expect(metricsOf(bytes)).toEqual([["ImageDistribution", "BytesDownloaded", "Sum", 3_600]]);
  });
});
