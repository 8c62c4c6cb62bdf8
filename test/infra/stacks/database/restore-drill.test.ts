import { beforeAll, describe, expect, it } from "vitest";
import { drillStates } from "../../../../infra/stacks/database/drill-states.ts";
import { type Template, templateText, useSynthesis } from "../synthesis.ts";

const synthesis = useSynthesis();

interface State {
  readonly Type: string;
  readonly Resource?: string;
  readonly Next?: string;
  readonly Default?: string;
  readonly End?: boolean;
  readonly Choices?: readonly { readonly Next: string }[];
  readonly Catch?: readonly { readonly Next: string }[];
}

const states: Readonly<Record<string, State>> = drillStates({
  plan: "the plan",
  instance: "the instance",
  capacityMax: 2,
  checkFunction: "the function",
  checks: {},
  topic: "the topic",
}).States;

const nextOf = ({ Next, Default, Choices = [], Catch = [] }: State): string[] =>
  [Next, Default, ...[...Choices, ...Catch].map((each) => each.Next)].filter((each) => each !== undefined);

/** All states that may follow, unless one of the others comes before. */
function reachable(from: string, without: readonly string[] = []): Set<string> {
  const found = new Set([from]);
  for (const each of found)
    for (const next of nextOf(states[each] ?? expect.fail(each))) if (!without.includes(next)) found.add(next);
  return found;
}

describe("The drill's states", () => {
  it("are all reached, and lead to an end", () => {
    expect([...reachable("FindRestore")].sort()).toEqual(Object.keys(states).sort());
    for (const [name, state] of Object.entries(states))
      expect([name, nextOf(state).length > 0]).toEqual([name, state.Type !== "Fail" && !state.End]);
  });

  it("delete the instance whatever fails once the cluster is there, and report only then", () => {
    const withInstance = [...reachable("AdoptCluster", ["DeleteInstance"])];

    expect(withInstance).toContain("Check");
    expect(withInstance.filter((each) => ["Report", "Judge", "Mail"].includes(each))).toEqual([]);
    for (const name of withInstance.filter((each) => states[each]?.Type === "Task"))
      expect(states[name]?.Catch).toMatchObject([{ ErrorEquals: ["States.ALL"], Next: "DeleteInstance" }]);
  });

  it("end well only by the mail, when nothing is wrong", () => {
    const ends = Object.entries(states).filter(([, { End, Type }]) => End || Type === "Succeed");

    expect(ends.map(([name]) => name)).toEqual(["Mail"]);
    expect(Object.keys(states).filter((each) => nextOf(states[each] as State).includes("Mail"))).toEqual(["Judge"]);
    expect(states.Judge?.Choices).toEqual([{ Condition: "{% $count($problems) = 0 %}", Next: "Mail" }]);
    expect(states.Judge?.Default).toBe("CopyIsWrong");
  });
});

describe("The drill of prod", () => {
  let template: Template;

  beforeAll(() => {
    template = synthesis.template("colophon-prod-database");
  });

  it("begins when AWS Backup begins to restore the night's backup in the cluster's subnets", () => {
    const plan = template.one("Backup::RestoreTestingPlan").Properties;
    const selection = template.one("Backup::RestoreTestingSelection").Properties;
    const rule = template.all("Events::Rule").find(({ Properties }) => Properties.ScheduleExpression)?.Properties;

    expect(plan).toMatchObject({
      RestoreTestingPlanName: "colophon_prod_drill",
      ScheduleExpression: "cron(0 8 5 * ? *)",
      RecoveryPointSelection: {
        Algorithm: "LATEST_WITHIN_WINDOW",
        RecoveryPointTypes: ["SNAPSHOT"],
        SelectionWindowDays: 1,
      },
    });
    expect(template.find(plan.RecoveryPointSelection.IncludeVaults[0])).toBe(template.one("Backup::BackupVault"));
    expect(selection).toMatchObject({ ProtectedResourceType: "Aurora", ValidationWindowHours: 6 });
    expect(selection.ProtectedResourceArns.map(templateText)).toEqual([
      `arn:\${AWS::Partition}:rds:eu-central-1:123456789012:cluster:\${${template.one("RDS::DBCluster").id}}`,
    ]);
    expect(selection.RestoreMetadataOverrides.dbSubnetGroupName).toEqual(
      template.one("RDS::DBCluster").Properties.DBSubnetGroupName,
    );
    expect(rule?.ScheduleExpression).toBe(plan.ScheduleExpression);
    expect(template.find(rule?.Targets[0].Arn)).toBe(template.one("StepFunctions::StateMachine"));
  });

  it("runs these states with its own function, plan and topic", () => {
    const definition = JSON.parse(
      templateText(template.one("StepFunctions::StateMachine").Properties.DefinitionString),
    );

    expect(Object.keys(definition.States)).toEqual(Object.keys(states));
    const { FindRestore, CreateInstance, Check, Mail } = definition.States;
    expect(FindRestore.Arguments.ByRestoreTestingPlanArn).toContain(template.one("Backup::RestoreTestingPlan").id);
    expect(CreateInstance.Arguments.DbInstanceIdentifier).toBe("colophon-prod-drill");
    expect(Check.Arguments.Payload).toMatchObject({ knownContributor: "naoki-urasawa", hours: 26 });
    const check = template
      .all("Lambda::Function")
      .find(({ Properties }) => Properties.FunctionName === "colophon-prod-ops-check-copy");
    expect(Check.Arguments.FunctionName).toBe(`\${${check?.id}}`);
    expect(Mail.Arguments.TopicArn).toBe(`\${${template.one("SNS::Topic").id}}`);
  });

  it("alarms when it failed or did not come to an end", () => {
    const alarm = template.all("CloudWatch::Alarm").find(({ Properties }) => /-drill-/.test(Properties.AlarmName));
    const [sum, ...metrics] = alarm?.Properties.Metrics ?? [];

    expect(sum.Expression).toBe("failed + late + aborted");
    expect(metrics.map(({ MetricStat }: { MetricStat: { Metric: object } }) => MetricStat.Metric)).toMatchObject(
      ["ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted"].map((MetricName) => ({
        Namespace: "AWS/States",
        MetricName,
      })),
    );
    expect(alarm?.Properties).toMatchObject({ Threshold: 1, EvaluationPeriods: 1 });
  });
});
