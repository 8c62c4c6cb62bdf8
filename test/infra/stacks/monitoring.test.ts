import { describe, expect, it } from "vitest";
import { settings } from "../../../infra/stages.ts";
import { endpointPath, isPublic } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { changedSynthesis, fires, type Properties, prod, synthesis, type Template, templateText } from "./synthesis.ts";

const changed = await changedSynthesis();

const alarmIn = (template: Template, name: string): Properties =>
  template.the("CloudWatch::Alarm", "AlarmName", name).Properties;

/** The metrics that an alarm's expression reads. */
const metricsOf = ({ Metrics }: Properties): Properties[] =>
  Metrics.flatMap(({ MetricStat }: Properties) => MetricStat ?? []);

/** The alarms on what is in logs, and which lines count. */
const patterns: Readonly<Record<string, string>> = {
  throttled: '{ $.status = "429" }',
  "functions-full": '{ $.integrationStatus = "429" }',
  "slow-responses": '{ ($.transfer = "BUFFERED") && ($.milliseconds = "*") }',
  "slow-lists": '{ ($.streamed IS TRUE) && ($.durationInMilliseconds = "*") }',
  "ledger-growing": '{ $.ledgerBytesOfLastDay = "*" }',
  "sign-in-unavailable": '{ $.signIn = "*" }',
  "invalidations-over-budget": "{ $.isOverBudget IS TRUE }",
};

describe.each(settings.stages)("Stage $name", ({ name, uploads, smoke, edge, signIn, alarmRecipient }) => {
  const prefix = `colophon-${name}`;
  const template = synthesis.template(prefix);
  const alarm = (its: string) => alarmIn(template, `${prefix}-${its}`);

  it("mails when an alarm starts and when it ends, what it means", () => {
    expect(template.one("SNS::Subscription").Properties).toMatchObject({ Protocol: "email", Endpoint: alarmRecipient });
    for (const { AlarmActions, OKActions, AlarmDescription } of template.each("CloudWatch::Alarm")) {
      for (const [action] of [AlarmActions, OKActions]) expect(template.find(action).Type).toBe("AWS::SNS::Topic");
      expect(AlarmDescription.length).toBeGreaterThan(40);
    }
    const [, ...allowing] = template.one("SNS::TopicPolicy").Properties.PolicyDocument.Statement;
    for (const { Condition } of allowing)
      expect(Condition).toEqual({ StringEquals: { "aws:SourceAccount": settings.account.id } });
  });

  it.each<[boolean, failures: number | undefined, broken: number | undefined, requests: number]>([
    [false, 2, 0, 2],
    [true, 3, 0, 3],
    [true, 0, 3, 40],
    [true, 2, 1, 2_999],
    [true, 3, undefined, 3_000],
    [false, 3, 0, 3_001],
    [true, 120, 0, 120_000],
  ])(
    "counts as failing three responses or broken lists in five minutes, once they are one in a thousand: %s for %d, %d of %d",
    (isFailing, failures, broken, requests) => {
      expect(fires(alarm("three-failures"), { failures, broken, requests })).toBe(isFailing);
      for (const each of metricsOf(alarm("three-failures"))) expect(each).toMatchObject({ Period: 300, Stat: "Sum" });
    },
  );

  it.each<[boolean, runs: number | undefined, errors: number | undefined]>([
    [false, 1, undefined],
    [true, 1, 1],
    [true, undefined, undefined],
  ])("alarms when what runs by schedule failed or did not run on two days: %s", (isFailing, runs, errors) => {
    const its = alarm("schedules-failing");
    const scheduled = ["tidying", ...(uploads ? ["removal"] : [])];
    const values = scheduled.flatMap((each) => [
      [`${each}_runs`, runs],
      [`${each}_errors`, errors],
    ]);

    expect(fires(its, Object.fromEntries(values))).toBe(isFailing);
    expect([its.EvaluationPeriods, metricsOf(its).length]).toEqual([2, values.length]);
    for (const each of metricsOf(its)) expect(each).toMatchObject({ Period: 86_400, Stat: "Sum" });
  });

  it.runIf(smoke)("alarms when ops-smoke fails and when it does not run, which asks all that the public reads", () => {
    const { Dimensions, ...its } = alarm("smoke-failing");
    const lambda = template.find(Dimensions[0].Value);
    const rule = template.each("Events::Rule").find(({ Targets }) => template.find(Targets[0].Arn) === lambda);
    const { Input } = rule?.Targets[0] ?? {};
    const variables = lambda.Properties.Environment.Variables;

    expect(its).toMatchObject({ MetricName: "Errors", Threshold: 1, TreatMissingData: "breaching" });
    expect(its.Period).toBe(60 * (smoke?.everyMinutes ?? 0));
    expect(lambda.Properties.FunctionName).toBe(`${prefix}-ops-smoke`);
    const publicReads = endpoints.filter((each) => each.method === "GET" && isPublic(each));
    const requested = JSON.parse(Input).requests.map(({ endpoint }: Properties) => endpoint);
    expect(requested.sort()).toEqual(publicReads.map(endpointPath).sort());
    // EventBridge takes no more (EventBridge, "PutTargets").
    expect(Input.length).toBeLessThan(8_192);
    // A retry would count a failure twice.
    const retries = template.each("Lambda::EventInvokeConfig").map((each) => each.MaximumRetryAttempts);
    expect(new Set(retries)).toEqual(new Set([0]));
    expect(variables.EDGE_URL).toBe(edge && `https://${edge.domain}`);
    expect(template.find(variables.API_DOOR_ARN).Properties.Name).toBe(`/colophon/${name}/edge-key-1`);
  });

  it("counts lines of logs for alarms, at no cost while nothing happens", () => {
    const filters = template.each("Logs::MetricFilter");
    const ofLogs = template.each("CloudWatch::Alarm").filter(({ Namespace }) => Namespace === "Colophon");
    const counted = ofLogs.map(({ AlarmName, MetricName }) => {
      const filter = filters.find(({ MetricTransformations: [metric] }) => metric.MetricName === MetricName);
      expect(filter?.MetricTransformations[0]).not.toHaveProperty("DefaultValue");
      return [AlarmName.replace(`${prefix}-`, ""), filter?.FilterPattern];
    });

    const expected = Object.entries(patterns).filter(
      ([its]) => (edge || its !== "invalidations-over-budget") && (signIn || its !== "sign-in-unavailable"),
    );
    expect(counted.sort()).toEqual(expected.sort());
    expect(alarm("ledger-growing")).toMatchObject({ Period: 86_400, Threshold: 1_000_000_000 });
    for (const each of ["slow-responses", "slow-lists"]) {
      expect(alarm(each)).toMatchObject({ ExtendedStatistic: "p99", Threshold: 3_000, EvaluationPeriods: 3 });
    }
  });
});

describe.each(settings.databases)("The database $name", ({ name, capacityMax }) => {
  it("alarms on a migration or rotation that failed, and on its limits", () => {
    const prefix = `colophon-${name}-database`;
    const template = synthesis.template(prefix);
    const alarm = (its: string) => alarmIn(template, `${prefix}-${its}`);

    expect(alarm("at-capacity")).toMatchObject({ MetricName: "ACUUtilization", Threshold: 95 });
    // Four fifths of what Aurora allows one of 2 and one of 8 ACU.
    const Threshold = { 2: 360, 8: 1_441 }[capacityMax];
    expect(alarm("connections")).toMatchObject({ MetricName: "DatabaseConnections", Threshold });
    expect(alarm("migration-failed")).toMatchObject({ MetricName: "Errors", Threshold: 1 });
    expect(template.find(alarm("migration-failed").Dimensions[0].Value).Properties.FunctionName).toBe(
      `colophon-${name}-ops-migrate-on-deploy`,
    );
  });
});

describe("The account", () => {
  const { concurrency = 0, alarmRecipient, budget } = settings.account;
  const template = synthesis.template("colophon-account");

  it("alarms when functions use four fifths of what the stages do not reserve", () => {
    const reserved = settings.stages
      .flatMap(({ name }) => synthesis.template(`colophon-${name}`).each("Lambda::Function"))
      .reduce((sum, { ReservedConcurrentExecutions: each = 0 }) => sum + each, 0);
    const { Dimensions, ...alarm } = template.one("CloudWatch::Alarm").Properties;

    expect(reserved).toBeGreaterThan(0);
    expect(Dimensions).toBeUndefined();
    // It counts as used what is reserved; so lists alone never reach the threshold, and the panel's functions do.
    expect(alarm).toMatchObject({
      MetricName: "ClaimedAccountConcurrency",
      Statistic: "Maximum",
      Threshold: reserved + 0.8 * (concurrency - reserved),
    });
    expect(template.one("SNS::Subscription").Properties.Endpoint).toBe(alarmRecipient);
  });

  it("mails at 80 % and 100 % of the budget, and when the forecast exceeds it", () => {
    const { Budget, NotificationsWithSubscribers } = template.one("Budgets::Budget").Properties;
    const mails = NotificationsWithSubscribers.map(({ Notification, Subscribers: [{ Address }] }: Properties) => {
      return [Notification.NotificationType, Notification.Threshold, Address].join(" ");
    });

    expect(Budget).toMatchObject({ TimeUnit: "MONTHLY", BudgetLimit: { Amount: budget?.dollarsAMonth, Unit: "USD" } });
    expect(mails).toEqual(["ACTUAL 80", "ACTUAL 100", "FORECASTED 100"].map((each) => `${each} ${budget?.recipient}`));
  });
});

describe("The alarms on CloudFront", () => {
  const prefix = "colophon-prod-eu-central-1";
  const alarms = synthesis.template(`${prefix}-cdn-alarms`);

  /** An alarm's metrics of CloudFront, by the outputs of the stage that name the distributions. */
  const ofDistributions = (alarm: Properties, stage = "colophon-prod", region = "eu-central-1") =>
    metricsOf(alarm).map(({ Metric, Period, Stat }) => {
      const [distribution, everywhere] = Metric.Dimensions;
      const { StackName, OutputName, Region } = distribution.Value["Fn::GetStackOutput"];
      expect([StackName, Region, everywhere]).toEqual([stage, region, { Name: "Region", Value: "Global" }]);
      return [OutputName, Metric.MetricName, Stat, Period].join(" ");
    });

  it.each([
    ["edge", "EdgeDistribution"],
    ["images", "ImageDistribution"],
  ])("fire when more than one response in a hundred is 5xx: %s", (name, output) => {
    const alarm = alarmIn(alarms, `${prefix}-${name}-failing`);

    expect(ofDistributions(alarm)).toEqual([`${output} 5xxErrorRate Average 300`, `${output} Requests Sum 300`]);
    expect(fires(alarm, { requests: 100, rate: 1 })).toBe(true);
    expect(fires(alarm, { requests: 100, rate: 0.9 })).toBe(false);
    expect(fires(alarm, { requests: 99, rate: 100 })).toBe(false);
  });

  it.each([
    ["bytes", "BytesDownloaded", 20_000_000_000],
    ["requests", "Requests", 1_000_000],
  ])("fire when both together cost more %s an hour than the settings allow", (name, metric, most) => {
    const alarm = alarmIn(alarms, `${prefix}-cdn-${name}`);
    const both = ["EdgeDistribution", "ImageDistribution"];

    expect(ofDistributions(alarm)).toEqual(both.map((each) => `${each} ${metric} Sum 3600`));
    expect(fires(alarm, { edge: most - 1, images: undefined })).toBe(false);
    expect(fires(alarm, { edge: undefined, images: most })).toBe(true);
    expect(fires(alarm, { edge: most / 2, images: most / 2 })).toBe(true);
  });

  it("fire when the firewall blocks as much as the settings say, for ten minutes", () => {
    const alarm = alarmIn(alarms, `${prefix}-firewall-blocking`);
    const { Name, VisibilityConfig } = synthesis.template(`${prefix}-firewall`).one("WAFv2::WebACL").Properties;
    // Without `Region`, which metrics of regional web ACLs have (AWS WAF, "AWS WAF metrics and dimensions").
    const Dimensions = Object.entries({ Rule: "ALL", WebACL: Name }).map(([Name, Value]) => ({ Name, Value }));
    const Metric = { Namespace: "AWS/WAFV2", MetricName: "BlockedRequests", Dimensions };

    expect(metricsOf(alarm)).toEqual([{ Metric, Period: 300, Stat: "Sum" }]);
    expect(VisibilityConfig.MetricName).toBe(Name);
    expect([99, 100, undefined].map((edge) => fires(alarm, { edge }))).toEqual([false, true, false]);
    expect(alarm.EvaluationPeriods).toBe(2);
    const { DashboardBody } = synthesis.template("colophon-prod").one("CloudWatch::Dashboard").Properties;
    expect(templateText(DashboardBody).replaceAll("\\", "")).toContain(`WebACL="${Name}"`);
  });

  it("come with a mail when ACM could not renew a certificate of theirs", () => {
    const { EventPattern, Targets } = alarms.one("Events::Rule").Properties;

    expect(EventPattern).toMatchObject({
      "detail-type": ["ACM Certificate Approaching Expiration"],
      resources: [prod.edge?.certificate, prod.imageCertificate],
    });
    expect(alarms.find(Targets[0].Arn)).toBe(alarms.one("SNS::Topic"));
  });

  it("watch the images alone where the API has no edge, by the stage's own settings", () => {
    const images = changed.template("colophon-dev-eu-west-1-cdn-alarms");
    const bytes = alarmIn(images, "colophon-dev-eu-west-1-cdn-bytes");

    expect(images.each("CloudWatch::Alarm")).toHaveLength(4);
    expect(bytes.Threshold).toBe(2_500_000_000);
    expect(ofDistributions(bytes, "colophon-dev", "eu-west-1")).toEqual(["ImageDistribution BytesDownloaded Sum 3600"]);
  });
});
