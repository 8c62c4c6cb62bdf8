import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { withCosts } from "../../../infra/costs/costs.ts";
import { type Deployed, limitsOf, mix, monthOf, restOf, type Template } from "../../../infra/costs/month.ts";
import type { DatabaseSettings, StageSettings } from "../../../infra/settings/schema.ts";
import { settings } from "../../../infra/stages.ts";
import { useSynthesis } from "../stacks/synthesis.ts";

const synthesis = useSynthesis();

/** Prod as it is deployed. */
let prod: Deployed;

beforeAll(() => {
  const read = (stack: string): Template => JSON.parse(synthesis.template(stack).text);
  const [, stage] = settings.stages as [StageSettings, StageSettings];
  const [, database] = settings.databases as [DatabaseSettings, DatabaseSettings];
  prod = {
    account: settings.account,
    stage,
    database,
    templates: [read("colophon-prod"), read("colophon-prod-database")],
  };
});

const total = (lines: Readonly<Record<string, number>>) => Object.values(lines).reduce((sum, each) => sum + each, 0);
const template = (...resources: Template["Resources"][string][]): Template => ({
  Resources: Object.fromEntries(resources.map((each, index) => [`Resource${index}`, each])),
});

describe("The costs in the operators' README", () => {
  it("are those of the settings and of the stacks", async () => {
    const readme = await readFile(join(import.meta.dirname, "../../../infra/README.md"), "utf8");

    const isFresh = withCosts(readme, settings, synthesis.directory) === readme;

    expect(isFresh, "settings, stacks or prices have changed: run `npm run costs`").toBe(true);
  });
});

describe("A month at rest", () => {
  it("is counted from the stacks", () => {
    const [stage, database] = prod.templates as [Template, Template];
    const instances = synthesis.template("colophon-prod-database").all("RDS::DBInstance").length;

    expect(restOf(database)["Aurora, `capacityMin` of each instance"]).toBeCloseTo(instances * 0.5 * 730 * 0.12, 6);
    expect(restOf(database).secrets).toBeGreaterThanOrEqual(0.4);
    expect(restOf(stage)).toMatchObject({ dashboards: 3, "firewalls and their rules": 10 });
    expect(total(restOf(stage, database))).toBeCloseTo(total(restOf(stage)) + total(restOf(database)), 6);
  });

  it("counts a secret that RDS keeps, and an alarm by its metrics", () => {
    const cluster = {
      ManageMasterUserPassword: true,
      ServerlessV2ScalingConfiguration: { MinCapacity: 0 },
    };
    const metrics = [{ Id: "share", Expression: "1" }, { MetricStat: {} }, { MetricStat: {} }];

    expect(restOf(template({ Type: "AWS::RDS::DBCluster", Properties: cluster }))).toMatchObject({ secrets: 0.4 });
    const alarms = restOf(
      template(
        { Type: "AWS::CloudWatch::Alarm", Properties: { Metrics: metrics } },
        { Type: "AWS::CloudWatch::Alarm", Properties: { MetricName: "Errors" } },
      ),
    );
    expect(alarms.alarms).toBeCloseTo(0.3, 6);
  });
});

describe("A month of requests", () => {
  it("is made of all requests", () => {
    expect(mix.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12);
  });

  it("costs what a calculator says", () => {
    const month = monthOf(prod, 100, false);

    expect(month["API Gateway, requests"]).toBeCloseTo(350, 6);
    // 79 MB of records, 200 MB of lists, 0.3 MB of changes for each million
    expect(month["API Gateway, data sent"]).toBeCloseTo(100 * (0.79 + 2 + 0.003) * 0.09, 6);
    // 20 ms of waiting, and 5.4 ms of a vCPU of which 512 MB buy 0.289
    expect(month["Lambda, time"]).toBeCloseTo(100 * (0.02 + 0.0054 * (1769 / 512)) * 0.5 * 13.3334, 4);
    expect(month["logs, kept"]).toBeCloseTo(100 * 1.2 * 3 * 0.03, 6);
    expect(month["CloudFront, requests"]).toBe(0);
  });

  it("costs the origin only what the edge does not answer", () => {
    const month = monthOf(prod, 100, true);

    // 99 reads of which a twentieth passes, and one change
    expect(month["API Gateway, requests"]).toBeCloseTo((99 * 0.05 + 1) * 3.5, 6);
    expect(month["Aurora, writes"]).toBeCloseTo(5 * 0.2, 6);
    expect(month).toMatchObject({ "CloudFront, requests": 100, "API Gateway, data sent": 0 });
  });

  it("costs less than half of $669 with an edge, at 100 million", () => {
    expect(total(monthOf(prod, 100, true))).toBeLessThan(669 / 2);
    expect(total(monthOf(prod, 100, false))).toBeGreaterThan(600);
  });

  it("costs the capacity of every instance as it grows", () => {
    const line = "Aurora above `capacityMin`, each instance";
    const instances = synthesis.template("colophon-prod-database").all("RDS::DBInstance").length;
    // 1.141 ms of PostgreSQL a request, 380.5 a second, four units a vCPU that is half busy
    const units = 0.001141 * 380.5175 * 8;

    expect(monthOf(prod, 1, false)[line]).toBe(0);
    expect(monthOf(prod, 1_000, false)[line]).toBeCloseTo(instances * (units - 0.5) * 730 * 0.12, 0);
  });
});

describe("What breaks first", () => {
  it("is what the peak of a month fills most, and moves with its setting", () => {
    const wide = { rate: 1_000_000, burst: 1_000_000 };
    const opened = { ...prod, stage: { ...prod.stage, throttles: { ...prod.stage.throttles, lists: wide } } };
    const first = (deployed: Deployed) => limitsOf(deployed, 1_000, false)[0]?.[0];

    expect(first(prod)).toBe("`throttles.lists`");
    expect(first(opened)).toBe("`throttles.records`");
    expect(first({ ...opened, database: { ...prod.database, capacityMax: 1 } })).toBe("`capacityMax`");
    expect(first({ ...opened, account: { ...prod.account, concurrency: 10 } })).toBe("`account.concurrency`");
    expect(first({ ...opened, stage: { ...opened.stage, streams: { concurrent: 1, secondsMax: 60 } } })).toBe(
      "`streams.concurrent`",
    );
  });

  it("comes later behind an edge", () => {
    const [, share] = limitsOf(prod, 100, false)[0] ?? [];
    const [, behind] = limitsOf(prod, 100, true)[0] ?? [];

    expect(behind).toBeLessThan((share ?? 0) / 5);
  });
});
