import { beforeAll, describe, expect, it } from "vitest";
import type { Settings } from "../../../../infra/settings/schema.ts";
import { settings } from "../../../../infra/stages.ts";
import { endpointPath, isPublic } from "../../../../lib/contract/declare.ts";
import { endpoints } from "../../../../lib/contract/endpoints.ts";
import { type Properties, type Template, useSynthesis } from "../synthesis.ts";

const synthesis = useSynthesis();

/** By name, without the stack's. */
const alarmsOf = (template: Template, prefix: string) =>
  Object.fromEntries(
    template.all("CloudWatch::Alarm").map((each) => [each.Properties.AlarmName.replace(`${prefix}-`, ""), each]),
  );

const stages: Settings["stages"] = settings.stages;
const publicReads = endpoints.filter((each) => each.method === "GET" && isPublic(each));

/** What CloudWatch's functions do, as JavaScript. */
const formula = `
  const FILL = (value, other) => value ?? other;
  const IF = (condition, value, other) => condition ? value : other;
`;

type LogAlarm = [alarm: string, log: string, pattern: string, value: object, statistic: object];

describe.each(stages)("Stage $name", ({ name, uploads, smoke, edge, signIn, alarmRecipient }) => {
  const prefix = `colophon-${name}`;
  let template: Template;

  beforeAll(() => {
    template = synthesis.template(prefix);
  });

  it("alarms on failing and slow answers, throttling, the ledger's growth, and schedules that fail or are dead", () => {
    const removal = uploads ? ["removed-images-served"] : [];
    const responses = [
      "failing-responses",
      "three-failures",
      "slow-responses",
      "slow-lists",
      "requests",
      "throttled",
      "functions-full",
    ];
    expect(Object.keys(alarmsOf(template, prefix)).sort()).toEqual(
      [
        ...responses,
        ...removal,
        ...(smoke ? ["smoke-failing"] : []),
        ...(edge ? ["invalidations-over-budget", "stale-responses"] : []),
        ...(signIn ? ["sign-in-unavailable", "sign-ins-failing"] : []),
        "ledger-growing",
        "schedules-failing",
      ].sort(),
    );
  });

  it("sends a mail when an alarm starts and when it ends", () => {
    const { TopicName: _, ...topic } = template.one("SNS::Topic").Properties;
    expect(topic.DisplayName).toBe(`${prefix} alarms`);
    expect(template.one("SNS::Subscription").Properties).toMatchObject({ Protocol: "email", Endpoint: alarmRecipient });
    for (const { Properties } of template.all("CloudWatch::Alarm")) {
      const { AlarmActions, OKActions, AlarmDescription } = Properties;
      for (const [action] of [AlarmActions, OKActions]) expect(template.find(action).Type).toBe("AWS::SNS::Topic");
      expect(AlarmDescription.length).toBeGreaterThan(40);
    }
  });

  it("lets CloudWatch publish to the topic, over TLS, for this account alone", () => {
    const statements: Properties[] = template.one("SNS::TopicPolicy").Properties.PolicyDocument.Statement;

    expect(statements).toContainEqual(
      expect.objectContaining({
        Effect: "Allow",
        Principal: { Service: "cloudwatch.amazonaws.com" },
        Condition: { StringEquals: { "aws:SourceAccount": settings.account.id } },
      }),
    );
    expect(statements).toContainEqual(
      expect.objectContaining({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
    );
  });

  it("counts as failing also three answers in five minutes, or lists that break off, once they are one in a thousand", () => {
    const { Metrics, Threshold, EvaluationPeriods } = alarmsOf(template, prefix)["three-failures"]?.Properties ?? {};
    const expression: string = (Metrics as Properties[]).find((each) => each.Expression)?.Expression;
    const compute = new Function("failures", "broken", "requests", `${formula} return ${expression}`);

    expect(EvaluationPeriods).toBe(1);
    const fires = (...counts: [failures: number | undefined, broken: number | undefined, requests: number]) =>
      compute(...counts) >= Threshold;
    expect(fires(2, 0, 2)).toBe(false);
    expect(fires(3, 0, 3)).toBe(true);
    expect(fires(0, 3, 40)).toBe(true);
    expect(fires(2, 1, 2_999)).toBe(true);
    expect(fires(3, undefined, 3_000)).toBe(true);
    expect(fires(3, 0, 3_001)).toBe(false);
    expect(fires(120, 0, 120_000)).toBe(true);
    for (const { MetricStat } of (Metrics as Properties[]).filter((each) => each.MetricStat))
      expect(MetricStat).toMatchObject({ Period: 300, Stat: "Sum" });
  });

  it("alarms when what runs by schedule failed or did not run on two days", () => {
    const { Metrics, Threshold, EvaluationPeriods } = alarmsOf(template, prefix)["schedules-failing"]?.Properties ?? {};
    const [{ Expression }, ...metrics] = Metrics as [Properties, ...Properties[]];
    const names = metrics.map(({ Id }) => Id);
    const fires = (runs: number | undefined, errors: number | undefined) =>
      new Function(...names, `${formula} return ${Expression}`)(
        ...names.map((each) => (each.endsWith("_runs") ? runs : errors)),
      ) >= Threshold;

    expect(names).toHaveLength(uploads ? 4 : 2);
    expect(fires(1, undefined)).toBe(false);
    expect(fires(1, 1)).toBe(true);
    expect(fires(undefined, undefined)).toBe(true);
    expect(EvaluationPeriods).toBe(2);
    for (const { MetricStat } of metrics) expect(MetricStat).toMatchObject({ Period: 86_400, Stat: "Sum" });
  });

  it.runIf(smoke)("alarms when ops-smoke fails and when it does not run", () => {
    const { Dimensions, ...alarm } = alarmsOf(template, prefix)["smoke-failing"]?.Properties ?? {};
    const lambda = template.find(Dimensions[0].Value);

    expect(alarm).toMatchObject({
      MetricName: "Errors",
      Threshold: 1,
      Period: 60 * (smoke?.everyMinutes ?? 0),
      TreatMissingData: "breaching",
    });
    expect(lambda.Properties.FunctionName).toBe(`${prefix}-ops-smoke`);
    const rule = template.all("Events::Rule").find(({ Properties }) => {
      return template.find(Properties.Targets[0].Arn).id === lambda.id;
    });
    const { requests } = JSON.parse(rule?.Properties.Targets[0].Input);
    const asked = requests.map(({ endpoint }: Properties) => endpoint);
    expect(asked.sort()).toEqual(publicReads.map(endpointPath).sort());
    // EventBridge takes no more (EventBridge, "PutTargets").
    expect(rule?.Properties.Targets[0].Input.length).toBeLessThan(8_192);
    const asynchronously = template.all("Lambda::EventInvokeConfig").find(({ Properties }) => {
      return template.find(Properties.FunctionName).id === lambda.id;
    });
    expect(asynchronously?.Properties.MaximumRetryAttempts).toBe(0);
  });

  it.runIf(smoke && edge)("has ops-smoke ask the edge, too", () => {
    const { Properties: lambda } =
      template.all("Lambda::Function").find((each) => each.Properties.FunctionName === `${prefix}-ops-smoke`) ??
      expect.fail("no ops-smoke");
    expect(lambda.Environment.Variables.EDGE_URL).toBe(`https://${edge?.domain}`);
    expect(template.find(lambda.Environment.Variables.API_DOOR_ARN).Properties.Name).toBe(
      `/colophon/${name}/edge-key-1`,
    );
  });

  const value = { Dimensions: [{ Key: "ending", Value: "$.signIn" }] };
  const statistic = { Dimensions: [{ Name: "ending", Value: "unavailable" }], Statistic: "Sum", Threshold: 2 };
  const ofSignIn: LogAlarm[] = signIn
    ? [["sign-in-unavailable", "functions", '{ $.signIn = "*" }', value, statistic]]
    : [];

  it.each<LogAlarm>([
    ["throttled", "access", '{ $.status = "429" }', { MetricValue: "1" }, { Statistic: "Sum" }],
    ["functions-full", "access", '{ $.integrationStatus = "429" }', { MetricValue: "1" }, { Statistic: "Sum" }],
    [
      "slow-responses",
      "access",
      '{ ($.transfer = "BUFFERED") && ($.milliseconds = "*") }',
      { MetricValue: "$.milliseconds" },
      { ExtendedStatistic: "p99" },
    ],
    [
      "slow-lists",
      "functions",
      '{ ($.streamed IS TRUE) && ($.durationInMilliseconds = "*") }',
      { MetricValue: "$.durationInMilliseconds" },
      { ExtendedStatistic: "p99" },
    ],
    [
      "ledger-growing",
      "functions",
      '{ $.ledgerBytesOfLastDay = "*" }',
      { MetricValue: "$.ledgerBytesOfLastDay" },
      { Statistic: "Maximum", Period: 86_400, Threshold: 1_000_000_000, EvaluationPeriods: 1 },
    ],
    ...ofSignIn,
  ])("reads from a log what is %s", (alarm, log, pattern, value, statistic) => {
    const filters = template.all("Logs::MetricFilter").map(({ Properties }) => Properties);
    const filter = filters.find(({ FilterPattern }) => FilterPattern === pattern);
    const [metric] = filter?.MetricTransformations ?? [];

    expect(metric).toMatchObject(value);
    expect(template.find(filter?.LogGroupName).Properties.LogGroupName).toBe(`/colophon/${name}/${log}`);
    expect(alarmsOf(template, prefix)[alarm]?.Properties).toMatchObject({
      Namespace: metric.MetricNamespace,
      MetricName: metric.MetricName,
      ...statistic,
    });
  });

  it("pays for no metric while nothing happens", () => {
    const filters = template.all("Logs::MetricFilter").flatMap(({ Properties }) => Properties.MetricTransformations);

    expect(filters.map(({ DefaultValue }) => DefaultValue)).toEqual(filters.map(() => undefined));
  });
});

describe.each(settings.databases)(
  "The database $name",
  ({ name, alarmRecipient, backupRegion, capacityMax, standby }) => {
    it("alarms on a migration or rotation that failed, and on its capacity's limit", () => {
      const template = synthesis.template(`colophon-${name}-database`);
      const alarms = alarmsOf(template, `colophon-${name}-database`);

      const more = [...(backupRegion ? ["backup-not-copied"] : []), ...(standby ? ["standby-gone"] : [])];
      expect(Object.keys(alarms).sort()).toEqual(
        ["at-capacity", "connections", "migration-failed", "rotation-failed", ...more].sort(),
      );
      expect(alarms["at-capacity"]?.Properties).toMatchObject({ MetricName: "ACUUtilization", Threshold: 95 });
      expect(alarms.connections?.Properties).toMatchObject({
        MetricName: "DatabaseConnections",
        // Four fifths of what Aurora allows one of 2 and one of 8 ACU.
        Threshold: { 2: 360, 8: 1_441 }[capacityMax],
      });
      expect(alarms["migration-failed"]?.Properties).toMatchObject({ MetricName: "Errors", Threshold: 1 });
      const [dimension] = alarms["migration-failed"]?.Properties.Dimensions ?? [];
      expect(template.find(dimension.Value).Properties.FunctionName).toBe(`colophon-${name}-ops-migrate-on-deploy`);
      expect(template.one("SNS::Subscription").Properties.Endpoint).toBe(alarmRecipient);
    });
  },
);

describe("The account", () => {
  const { concurrency = 0, alarmRecipient, budget } = settings.account;

  it("alarms when functions use four fifths of what the stages do not reserve", () => {
    const reserved = settings.stages
      .flatMap(({ name }) => synthesis.template(`colophon-${name}`).all("Lambda::Function"))
      .reduce((sum, { Properties }) => sum + (Properties.ReservedConcurrentExecutions ?? 0), 0);
    const template = synthesis.template("colophon-account");
    const { Dimensions, ...alarm } = template.one("CloudWatch::Alarm").Properties;

    expect(Dimensions).toBeUndefined();
    expect(alarm).toMatchObject({
      AlarmName: "colophon-account-at-concurrency",
      Namespace: "AWS/Lambda",
      // Counts as used what is reserved; so lists alone never reach the threshold, and the panel's functions do.
      MetricName: "ClaimedAccountConcurrency",
      Statistic: "Maximum",
      Threshold: reserved + 0.8 * (concurrency - reserved),
    });
    expect(reserved).toBeGreaterThan(0);
    expect(template.one("SNS::Subscription").Properties.Endpoint).toBe(alarmRecipient);
  });

  it("sends a mail at 80 % and 100 % of the budget, and when the forecast exceeds it", () => {
    const { Budget, NotificationsWithSubscribers } = synthesis
      .template("colophon-account")
      .one("Budgets::Budget").Properties;

    expect(Budget).toMatchObject({ TimeUnit: "MONTHLY", BudgetLimit: { Amount: budget?.dollarsAMonth, Unit: "USD" } });
    expect(
      (NotificationsWithSubscribers as Properties[]).map(({ Notification, Subscribers: [{ Address }] }) => [
        Notification.NotificationType,
        Notification.Threshold,
        Address,
      ]),
    ).toEqual([
      ["ACTUAL", 80, budget?.recipient],
      ["ACTUAL", 100, budget?.recipient],
      ["FORECASTED", 100, budget?.recipient],
    ]);
  });
});
