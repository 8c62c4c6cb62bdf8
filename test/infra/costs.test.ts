import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Costs, costsOf, fixtures, memoryInMegabytes, type Row, totals } from "../../infra/costs/calculate.ts";
import { withCosts } from "../../infra/costs.ts";
import { type DatabaseSettings, type StageSettings, settings } from "../../infra/stages.ts";
import { useSynthesis } from "./stacks/synthesis.ts";

const [dev, prod] = settings.stages as [StageSettings, StageSettings];
const [devDatabase, prodDatabase] = settings.databases as [DatabaseSettings, DatabaseSettings];

const million = ({ requests }: Costs, kind: string): readonly Row[] =>
  requests.find(({ name }) => name.startsWith(kind))?.rows ?? [];
const find = (rows: readonly Row[], name: string): Row | undefined => rows.find(({ what }) => what === name);
const ofProd = (changes: Partial<StageSettings> = {}) => costsOf({ ...prod, ...changes }, prodDatabase);
const ofDatabase = (changes: Partial<DatabaseSettings>) =>
  costsOf(prod, { ...prodDatabase, ...changes }).ofDatabase.map(({ what, amounts }) => [what, amounts]);

describe("The costs in the operators' README", () => {
  it("are those of the settings", async () => {
    const readme = await readFile(join(import.meta.dirname, "../../infra/README.md"), "utf8");

    const isFresh = withCosts(readme, settings) === readme;

    expect(isFresh, "the settings or prices have changed: run `npm run costs -- --write`").toBe(true);
  });
});

describe("A million requests", () => {
  it("cost what a calculator says", () => {
    const list = million(ofProd(), "list");

    expect(find(list, "API Gateway")?.amounts).toEqual([3.5, 1]);
    // 17 ms for the Data API, 7 ms of a vCPU of which 512 MB buy 0.289, and 3 ms for a hundredth of a cold start
    expect(find(list, "Lambda, time")).toMatchObject({ arithmetic: "1 M × 44 ms × 0.5 GB × $13.3334" });
    expect(find(list, "Lambda, time")?.amounts[0]).toBeCloseTo(0.293, 3);
    expect(find(list, "Data API")?.amounts[0]).toBeCloseTo(0.35, 6);
    expect(find(list, "logs, taken in")?.amounts[0]).toBeCloseTo(0.6, 6);
    expect(totals(list)[0]).toBeCloseTo(3.5 + 0.2 + 0.2933 + 0.35 + 0.9 + 0.6 + 0.108 + 0.25 + 0.6, 3);
    expect(totals(list)[1]).toBeCloseTo(1 + 0.2 + 0.2933 + 0.35 + 0.9 + 0.6 + 0.108, 3);
  });

  it("are counted by what they carry", () => {
    const image = million(ofProd(), "image, from");
    const whole = million(ofProd(), "whole list");

    expect(find(image, "API Gateway")).toMatchObject({ arithmetic: "1 M × $3.50 or 1 M × 4 × $1.00" });
    expect(find(image, "Data API")).toMatchObject({ arithmetic: "1 M × 2 × $0.35" });
    expect(find(whole, "API Gateway")?.amounts).toEqual([14, undefined]);
    expect(find(whole, "Data API")).toMatchObject({ arithmetic: "1 M × 100 × 15 × $0.35" });
    expect(totals(whole)[1]).toBeUndefined();
  });

  it("cost more behind a firewall and with longer memory", () => {
    const { firewall, ...open } = prod;
    const kept = (days: StageSettings["logRetentionDays"]) =>
      find(million(ofProd({ logRetentionDays: days }), "record"), "logs, kept")?.amounts[0];

    const difference =
      (totals(million(ofProd(), "record"))[0] ?? 0) - (totals(million(costsOf(open, prodDatabase), "record"))[0] ?? 0);

    expect(firewall).toBeDefined();
    expect(difference).toBeCloseTo(0.6, 6);
    expect(kept(180)).toBeCloseTo(2 * (kept(90) ?? 0), 6);
  });

  it("of images exist only where there are uploads", () => {
    const names = (stage: StageSettings) => costsOf(stage, devDatabase).requests.map(({ name }) => name);

    expect(names(prod).filter((each) => each.startsWith("image"))).toHaveLength(2);
    expect(names(dev).filter((each) => each.startsWith("image"))).toEqual([]);
  });
});

describe("A month", () => {
  it("costs the capacity of the database, at rest and at its limit", () => {
    expect(ofDatabase({ capacityMin: 0.5, capacityMax: 8 })).toContainEqual(["Aurora", [43.8, 700.8]]);
    expect(ofDatabase({ capacityMin: 0, capacityMax: 2 })).toContainEqual(["Aurora", [0, 175.2]]);
  });

  it("costs backups of more than a day", () => {
    expect(ofDatabase({ backupDays: 1 })).toContainEqual(["backups", [0, 0]]);
    expect(find(costsOf(prod, { ...prodDatabase, backupDays: 35 }).ofDatabase, "backups")?.amounts[0]).toBeCloseTo(
      10 * 35 * 0.01 * 0.021,
      6,
    );
  });

  it("costs the firewall where there is one", () => {
    const { firewall, ...open } = prod;

    expect(totals(ofProd().ofStage)[0]).toBeCloseTo(0.8 + 0.6 + 3 + 5 + 2, 6);
    expect(totals(costsOf(open, prodDatabase).ofStage)[0]).toBeCloseTo(0.8 + 0.6 + 3, 6);
  });
});

describe("What is counted", () => {
  const synthesis = useSynthesis();

  const alarmMetrics = (stack: string): number =>
    synthesis
      .template(stack)
      .all("CloudWatch::Alarm")
      .reduce((sum, { Properties }) => {
        const metrics: { MetricStat?: unknown }[] = Properties.Metrics ?? [{ MetricStat: Properties.MetricName }];
        return sum + metrics.filter(({ MetricStat }) => MetricStat !== undefined).length;
      }, 0);

  it("is what the stacks have", () => {
    const stage = synthesis.template("colophon-prod");

    expect(alarmMetrics("colophon-prod-database")).toBe(fixtures.databaseAlarmMetrics);
    expect(alarmMetrics("colophon-dev")).toBe(fixtures.stageAlarmMetrics);
    expect(alarmMetrics("colophon-prod")).toBe(fixtures.stageAlarmMetrics + fixtures.uploadAlarmMetrics);
    expect(stage.one("WAFv2::WebACL").Properties.Rules).toHaveLength(fixtures.firewallRules);
    expect(stage.all("CloudWatch::Dashboard")).toHaveLength(1);
    expect(stage.all("Logs::MetricFilter")).toHaveLength(fixtures.logMetrics);
  });

  it("is the memory that functions get", () => {
    const given = settings.stages
      .flatMap(({ name }) => synthesis.template(`colophon-${name}`).all("Lambda::Function"))
      .map(({ Properties }) => [Properties.FunctionName, Properties.MemorySize]);

    for (const [name, memory] of given) {
      const expected = /-update-(image|avatar)$/.test(name) ? memoryInMegabytes.images : memoryInMegabytes.usual;
      expect([name, memory]).toEqual([name, expected]);
    }
    expect(given.length).toBeGreaterThan(50);
  });
});
