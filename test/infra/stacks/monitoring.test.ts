import { describe, expect, it } from "vitest";
import { settings } from "../../../infra/settings/settings.ts";
import { changedSynthesis, type Properties, prod, stacks, synthesis, templateText } from "./synthesis.ts";

const changed = await changedSynthesis();
const stage = synthesis.template("colophon-prod");
const cdnPrefix = "colophon-prod-eu-central-1";
const cdnAlarms = synthesis.template(`${cdnPrefix}-cdn-alarms`);

const alarmIn = (template: typeof stage, name: string): Properties =>
  template.the("CloudWatch::Alarm", "AlarmName", name).Properties;

/** The metrics that an alarm's expression reads. */
const metricsOf = ({ Metrics }: Properties): Properties[] =>
  Metrics.flatMap(({ MetricStat }: Properties) => MetricStat ?? []);

type Values = Readonly<Record<string, number | undefined>>;

/** Whether an alarm fires for these values of its metrics. */
function fires({ Metrics, Threshold }: Properties, values: Values): boolean {
  const { Expression } = (Metrics as Properties[]).find((each) => each.Expression) ?? {};
  const FILL = (value: number | undefined, otherwise: number) => value ?? otherwise;
  const IF = (condition: boolean, value: number, otherwise: number) => (condition ? value : otherwise);
  const compute = new Function("FILL", "IF", ...Object.keys(values), `return ${Expression}`);
  return compute(FILL, IF, ...Object.values(values)) >= Threshold;
}

/** Whom the settings of a stack's database or stage name, or those of the account. */
function recipientOf(stack: string) {
  const [, name, kind = ""] = stack.split("-");
  const owners = /^(database|backup)$/.test(kind) ? settings.databases : settings.stages;
  return owners.find((each) => each.name === name)?.alarmRecipient ?? settings.account.alarmRecipient;
}

describe.each(stacks.filter((each) => synthesis.template(each).all("SNS::Topic").length > 0))("Of %s", (stack) => {
  it("alarms and events mail what they mean to whom the settings name, and no other account can", () => {
    const template = synthesis.template(stack);
    const topic = template.one("SNS::Topic");
    const { Protocol, Endpoint } = template.one("SNS::Subscription").Properties;
    const [, ...allowing] = template.one("SNS::TopicPolicy").Properties.PolicyDocument.Statement;
    const mailing = template.each("Events::Rule").filter(({ Targets: [{ InputTransformer }] }) => InputTransformer);

    expect([Protocol, Endpoint]).toEqual(["email", recipientOf(stack)]);
    for (const { Condition } of allowing)
      expect(Condition).toEqual({ StringEquals: { "aws:SourceAccount": settings.account.id } });
    for (const { AlarmActions, OKActions, AlarmDescription } of template.each("CloudWatch::Alarm")) {
      expect([AlarmActions, OKActions].map(([action]) => template.find(action))).toEqual([topic, topic]);
      expect(AlarmDescription.length).toBeGreaterThan(40);
    }
    for (const { Targets } of mailing)
      expect(Targets.map(({ Arn }: Properties) => template.find(Arn))).toEqual([topic]);
  });
});

const schedules = (runs: number | undefined, errors: number | undefined) =>
  Object.fromEntries(
    ["tidying", "removal"].flatMap((name) => [
      [`${name}_runs`, runs],
      [`${name}_errors`, errors],
    ]),
  );

interface Case {
  readonly name: string;
  readonly when: string;
  readonly values: Values;
}

const isFiring = ({ name, values }: Case) =>
  fires(alarmIn(name.startsWith("eu-") ? cdnAlarms : stage, `colophon-prod-${name}`), values);

it.each<Case>([
  {
    name: "three-failures",
    when: "two responses failed and a list broke",
    values: { failures: 2, broken: 1, requests: 2_999 },
  },
  {
    name: "three-failures",
    when: "three of three thousand responses failed",
    values: { failures: 3, broken: undefined, requests: 3_000 },
  },
  { name: "schedules-failing", when: "runs failed", values: schedules(1, 1) },
  { name: "schedules-failing", when: "nothing ran", values: schedules(undefined, undefined) },
  { name: "stale-responses", when: "a tag waited for five minutes", values: { waited: 300, errors: 0, runs: 5 } },
  { name: "stale-responses", when: "a run failed", values: { waited: undefined, errors: 1, runs: 5 } },
  { name: "stale-responses", when: "nothing ran", values: { waited: undefined, errors: undefined, runs: 0 } },
  {
    name: "log-volume",
    when: "100 MB are more than 12 KB a request",
    values: { functions: 60_000_000, access: 40_000_000, requests: 8_300 },
  },
  { name: "eu-central-1-images-failing", when: "one of a hundred images failed", values: { requests: 100, rate: 1 } },
  {
    name: "eu-central-1-cdn-bytes",
    when: "both distributions sent 20 GB",
    values: { edge: 10_000_000_000, images: 10_000_000_000 },
  },
  {
    name: "eu-central-1-cdn-requests",
    when: "an hour had ten times what 100 M requests a month are",
    values: { edge: undefined, images: 1_369_863 },
  },
  { name: "eu-central-1-firewall-blocking", when: "a hundred requests were blocked", values: { edge: 100 } },
])("The alarm $name fires when $when", (alarm) => {
  expect(isFiring(alarm)).toBe(true);
});

it.each<Case>([
  { name: "three-failures", when: "both of two requests failed", values: { failures: 2, broken: 0, requests: 2 } },
  {
    name: "three-failures",
    when: "three of more than three thousand responses failed",
    values: { failures: 3, broken: 0, requests: 3_001 },
  },
  { name: "schedules-failing", when: "runs succeeded", values: schedules(1, undefined) },
  { name: "stale-responses", when: "runs found no tag", values: { waited: undefined, errors: 0, runs: 5 } },
  {
    name: "log-volume",
    when: "less than 50 MB were logged",
    values: { functions: 49_999_999, access: undefined, requests: 1 },
  },
  {
    name: "log-volume",
    when: "100 MB are less than 12 KB a request",
    values: { functions: 60_000_000, access: 40_000_000, requests: 8_400 },
  },
  {
    name: "eu-central-1-images-failing",
    when: "fewer than a hundred were asked for",
    values: { requests: 99, rate: 100 },
  },
  {
    name: "eu-central-1-cdn-bytes",
    when: "less than 20 GB were sent",
    values: { edge: 20_000_000_000 - 1, images: undefined },
  },
  {
    name: "eu-central-1-cdn-requests",
    when: "an hour had less than ten times the usual requests",
    values: { edge: undefined, images: 1_369_862 },
  },
  { name: "eu-central-1-firewall-blocking", when: "99 requests were blocked", values: { edge: 99 } },
])("The alarm $name is silent when $when", (alarm) => {
  expect(isFiring(alarm)).toBe(false);
});

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

describe("The alarms of a stage", () => {
  it("count lines of logs, at no cost while nothing happens", () => {
    const filters = stage.each("Logs::MetricFilter");
    const ofLogs = stage.each("CloudWatch::Alarm").filter(({ Namespace }) => Namespace === "Colophon");
    const counted = ofLogs.map(({ AlarmName, MetricName }) => {
      const filter = filters.find(({ MetricTransformations: [metric] }) => metric.MetricName === MetricName);
      expect(filter?.MetricTransformations[0]).not.toHaveProperty("DefaultValue");
      return [AlarmName.replace("colophon-prod-", ""), filter?.FilterPattern];
    });

    expect(Object.fromEntries(counted)).toEqual(patterns);
    expect(alarmIn(stage, "colophon-prod-ledger-growing").Threshold).toBe(1_000_000_000);
  });

  it("notice when ops-smoke fails, and when it does not run", () => {
    const { Dimensions, ...alarm } = alarmIn(stage, "colophon-prod-smoke-failing");
    const { Properties: lambda } = stage.find(Dimensions[0].Value);

    expect(alarm).toMatchObject({ MetricName: "Errors", Threshold: 1, TreatMissingData: "breaching", Period: 300 });
    expect(lambda.FunctionName).toBe("colophon-prod-ops-smoke");
    expect(lambda.Environment.Variables.EDGE_URL).toBe(`https://${prod.edge?.domain}`);
    // EventBridge takes no more (EventBridge, "PutTargets").
    for (const { Targets } of stage.each("Events::Rule")) expect((Targets[0].Input ?? "").length).toBeLessThan(8_192);
    // A retry would count a failure twice.
    const retries = stage.each("Lambda::EventInvokeConfig").map((each) => each.MaximumRetryAttempts);
    expect(new Set(retries)).toEqual(new Set([0]));
  });
});

it("Unusual costs are mailed daily by the account's own monitor, from so many dollars on", () => {
  const { MonitorArnList, Subscribers, Frequency, ThresholdExpression } = synthesis
    .template("colophon-account")
    .one("CE::AnomalySubscription").Properties;

  expect([MonitorArnList, Subscribers, Frequency]).toEqual([
    [settings.account.budget?.anomalyMonitor],
    [{ Type: "EMAIL", Address: settings.account.budget?.recipient }],
    "DAILY",
  ]);
  expect(JSON.parse(ThresholdExpression).Dimensions.Values).toEqual(["20"]);
});

it.each(settings.databases)("Database $name alarms on failed migrations and on limits", ({ name, capacityMax }) => {
  const template = synthesis.template(`colophon-${name}-database`);
  const alarm = (its: string) => alarmIn(template, `colophon-${name}-database-${its}`);
  const migrator = template.find(alarm("migration-failed").Dimensions[0].Value).Properties;

  expect(alarm("at-capacity")).toMatchObject({ MetricName: "ACUUtilization", Threshold: 95 });
  // Half of what Aurora allows one of 2 and one of 8 ACU.
  const Threshold = { 3: 306, 8: 834 }[capacityMax];
  expect(alarm("connections")).toMatchObject({ MetricName: "DatabaseConnections", Threshold });
  expect(migrator.FunctionName).toBe(`colophon-${name}-ops-migrate-on-deploy`);
});

describe("The account", () => {
  const { concurrency = 0, budget } = settings.account;
  const template = synthesis.template("colophon-account");

  it("alarms when functions use four fifths of what the stages do not reserve", () => {
    const reserved = settings.stages
      .flatMap(({ name }) => synthesis.template(`colophon-${name}`).each("Lambda::Function"))
      .reduce((sum, { ReservedConcurrentExecutions: each = 0 }) => sum + each, 0);
    const alarm = template.one("CloudWatch::Alarm").Properties;

    expect(reserved).toBeGreaterThan(0);
    expect(alarm).not.toHaveProperty("Dimensions");
    // It counts as used what is reserved; so lists alone never reach the threshold, and the panel's functions do.
    const Threshold = reserved + 0.8 * (concurrency - reserved);
    expect(alarm).toMatchObject({ MetricName: "ClaimedAccountConcurrency", Statistic: "Maximum", Threshold });
  });

  it("mails at 80 % and 100 % of the budget, and when the forecast exceeds it", () => {
    const { Budget, NotificationsWithSubscribers } = template.one("Budgets::Budget").Properties;
    const mails = NotificationsWithSubscribers.map(({ Notification, Subscribers: [{ Address }] }: Properties) =>
      [Notification.NotificationType, Notification.Threshold, Address].join(" "),
    );

    expect(Budget).toMatchObject({ TimeUnit: "MONTHLY", BudgetLimit: { Amount: budget?.dollarsAMonth, Unit: "USD" } });
    expect(mails).toEqual(["ACTUAL 80", "ACTUAL 100", "FORECASTED 100"].map((each) => `${each} ${budget?.recipient}`));
  });
});

describe("The alarms on CloudFront", () => {
  /** An alarm's metrics of CloudFront, by the outputs of the stage that name the distributions. */
  const ofDistributions = (alarm: Properties, name = "colophon-prod", region = "eu-central-1") =>
    metricsOf(alarm).map(({ Metric, Period, Stat }) => {
      const [distribution, everywhere] = Metric.Dimensions;
      const { StackName, OutputName, Region } = distribution.Value["Fn::GetStackOutput"];
      expect([StackName, Region, everywhere]).toEqual([name, region, { Name: "Region", Value: "Global" }]);
      return [OutputName, Metric.MetricName, Stat, Period].join(" ");
    });

  it("watch both distributions, and what both together cost", () => {
    const metrics = ["edge-failing", "cdn-bytes", "cdn-requests"].map((each) =>
      ofDistributions(alarmIn(cdnAlarms, `${cdnPrefix}-${each}`)),
    );
    const both = ["EdgeDistribution", "ImageDistribution"];

    expect(metrics).toEqual([
      ["EdgeDistribution 5xxErrorRate Average 300", "EdgeDistribution Requests Sum 300"],
      ...["BytesDownloaded", "Requests"].map((metric) => both.map((each) => `${each} ${metric} Sum 3600`)),
    ]);
  });

  it("watch what the firewall blocks, which the dashboard shows", () => {
    const { Name, VisibilityConfig } = synthesis.template(`${cdnPrefix}-firewall`).one("WAFv2::WebACL").Properties;
    // Without `Region`, which metrics of regional web ACLs have (AWS WAF, "AWS WAF metrics and dimensions").
    const Dimensions = Object.entries({ Rule: "ALL", WebACL: Name }).map(([Name, Value]) => ({ Name, Value }));
    const Metric = { Namespace: "AWS/WAFV2", MetricName: "BlockedRequests", Dimensions };

    const blocking = alarmIn(cdnAlarms, `${cdnPrefix}-firewall-blocking`);
    expect(metricsOf(blocking)).toEqual([{ Metric, Period: 300, Stat: "Sum" }]);
    expect(VisibilityConfig.MetricName).toBe(Name);
    const { DashboardBody } = stage.one("CloudWatch::Dashboard").Properties;
    expect(templateText(DashboardBody).replaceAll("\\", "")).toContain(`WebACL="${Name}"`);
  });

  it("come with a mail when ACM could not renew a certificate of theirs", () => {
    expect(cdnAlarms.one("Events::Rule").Properties.EventPattern).toMatchObject({
      "detail-type": ["ACM Certificate Approaching Expiration"],
      resources: [prod.edge?.certificate, prod.imageCertificate],
    });
  });

  it("watch the images alone where the API has no edge, by the stage's own settings", () => {
    const images = changed.template("colophon-dev-eu-west-1-cdn-alarms");
    const bytes = alarmIn(images, "colophon-dev-eu-west-1-cdn-bytes");

    expect(images.each("CloudWatch::Alarm")).toHaveLength(4);
    expect(bytes.Threshold).toBe(2_500_000_000);
    expect(ofDistributions(bytes, "colophon-dev", "eu-west-1")).toEqual(["ImageDistribution BytesDownloaded Sum 3600"]);
  });
});
