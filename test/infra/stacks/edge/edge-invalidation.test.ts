import { beforeAll, describe, expect, it } from "vitest";
import { settings } from "../../../../infra/stages.ts";
import { functionName } from "../../../../lib/contract/declare.ts";
import { endpoints } from "../../../../lib/contract/endpoints.ts";
import { type Properties, type Resource, type Template, useSynthesis } from "../synthesis.ts";

const synthesis = useSynthesis();

const nudging = [
  ...endpoints.filter((each) => "changesPublic" in each).map((each) => `STAGE-${functionName(each)}`),
  "STAGE-ops-undo",
  "DATABASE-ops-import",
  "DATABASE-ops-merge-contributors",
];

describe.each(settings.stages)("What changes on stage $name", ({ name, database, edge, uploads }) => {
  const prefix = `colophon-${name}`;
  let template: Template;
  let functions: Map<string, Resource>;

  beforeAll(() => {
    template = synthesis.template(prefix);
    functions = new Map(
      template.all("Lambda::Function").map((each) => [each.Properties.FunctionName.slice(prefix.length + 1), each]),
    );
  });

  const variablesOf = (each: Resource | undefined): Properties => each?.Properties.Environment.Variables ?? {};

  it("is told to ops-invalidate by each function that changes what the public reads, if there is an edge", () => {
    const all = [template, synthesis.template(`colophon-${database}-database`)].flatMap((each) =>
      each.all("Lambda::Function"),
    );
    const told = all.flatMap((lambda) => {
      const { INVALIDATE_FUNCTION } = variablesOf(lambda);
      return INVALIDATE_FUNCTION ? [[lambda.Properties.FunctionName, INVALIDATE_FUNCTION]] : [];
    });

    const deployed = nudging.filter((each) => uploads || !each.endsWith("avatar"));
    const names = deployed.map((each) => each.replace("STAGE", prefix).replace("DATABASE", `colophon-${database}`));
    expect(told.sort()).toEqual(edge ? names.map((each) => [each, `${prefix}-ops-invalidate`]).sort() : []);
  });

  it.runIf(edge)("is invalidated at the edge of the stage, within its budget", () => {
    const { API_DISTRIBUTION, INVALIDATIONS_A_DAY } = variablesOf(functions.get("ops-invalidate"));

    expect(template.find(API_DISTRIBUTION).Properties.DistributionConfig.Aliases).toEqual([edge?.domain]);
    expect(INVALIDATIONS_A_DAY).toBe("3000");
  });

  it.runIf(edge)("waits for no event that the schedule has overtaken, and takes no concurrency from visitors", () => {
    const lambda = functions.get("ops-invalidate");
    const config = template.all("Lambda::EventInvokeConfig").find(({ Properties }) => {
      return template.find(Properties.FunctionName).id === lambda?.id;
    });

    expect(config?.Properties).toMatchObject({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 });
    expect(lambda?.Properties.ReservedConcurrentExecutions).toBe(5);
  });

  it.runIf(edge)("raises an alarm when it waits for five minutes, when runs fail, and when there are none", () => {
    const alarm = template.all("CloudWatch::Alarm").find(({ Properties }) => {
      return Properties.AlarmName === `${prefix}-stale-responses`;
    });
    const { Threshold, Metrics } = alarm?.Properties ?? {};
    const { Expression } = Metrics.find((each: Properties) => each.Expression);
    const formula = Expression.replace("IF(FILL(runs, 0) > 0, 0, 1)", "(runs > 0 ? 0 : 1)");
    const compute = new Function("waited", "errors", "runs", "FILL", `return ${formula}`);
    const fires = (...values: (number | undefined)[]) =>
      compute(...values, (value: number | undefined, otherwise: number) => value ?? otherwise) >= Threshold;

    expect(fires(3, 0, 5)).toBe(false);
    expect(fires(undefined, 0, 5)).toBe(false);
    expect(fires(300, 0, 5)).toBe(true);
    expect(fires(undefined, 1, 5)).toBe(true);
    expect(fires(undefined, undefined, 0)).toBe(true);
  });
});
