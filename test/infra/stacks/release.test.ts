import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { settings } from "../../../infra/stages.ts";
import { functionName } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { type Properties, type Synthesis, synthesize, type Template, useSynthesis } from "./synthesis.ts";

const synthesis = useSynthesis();
const { alarmsOf, descriptionsOf, groupOf } = helpers();
let template: Template;

beforeAll(() => {
  template = synthesis.template("colophon-prod");
});

describe("A stage with gradual releases", () => {
  it("calls functions by aliases, whose traffic goes back when answers fail", () => {
    const aliases = template.all("Lambda::Alias");

    expect(aliases).toHaveLength(endpoints.length);
    for (const alias of aliases) {
      const group = groupOf(template, alias).Properties;
      expect(template.find(alias.Properties.FunctionVersion).Type).toBe("AWS::Lambda::Version");
      expect(group.ApplicationName).toEqual(alias.UpdatePolicy?.CodeDeployLambdaAliasUpdate.ApplicationName);
      expect(group.DeploymentConfigName).toBe("CodeDeployDefault.LambdaCanary10Percent5Minutes");
      expect(group.AlarmConfiguration.Enabled).toBe(true);
      expect(alarmsOf(template, group)).toEqual(["colophon-prod-failing-answers", "colophon-prod-three-failures"]);
      expect(group.AutoRollbackConfiguration).toEqual({
        Enabled: true,
        Events: ["DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM"],
      });
    }
  });

  it("has each version tried before it gets traffic, by a function that CodeDeploy may invoke", () => {
    const hooks = template.all("Lambda::Alias").map(({ UpdatePolicy }) => {
      return template.find(UpdatePolicy?.CodeDeployLambdaAliasUpdate.BeforeAllowTrafficHook);
    });
    const [hook] = hooks;
    const role = template.find(groupOf(template, template.all("Lambda::Alias")[0]).Properties.ServiceRoleArn);

    expect(new Set(hooks.map(({ id }) => id)).size).toBe(1);
    expect(hook?.Properties).toMatchObject({
      FunctionName: "colophon-prod-ops-verify-release",
      Environment: { Variables: { FUNCTION_PREFIX: "colophon-prod-" } },
    });
    // CodeDeploy waits for an hour.
    expect(hook?.Properties.Timeout).toBeLessThan(3_600);
    expect(role.Properties.Policies.map(({ PolicyDocument }: Properties) => PolicyDocument.Statement)).toEqual([
      [{ Action: "lambda:InvokeFunction", Effect: "Allow", Resource: { "Fn::GetAtt": [hook?.id, "Arn"] } }],
    ]);
  });

  it("keeps the versions that it replaces, and none whose release fails", () => {
    const policies = template.all("Lambda::Version").map((each) => [each.UpdateReplacePolicy, each.DeletionPolicy]);

    expect(policies).toEqual(endpoints.map(() => ["Retain", "RetainExceptOnCreate"]));
  });

  it("names its release in the descriptions of all functions that it releases", () => {
    const releases = descriptionsOf(template).map(
      (each) => / \((release [0-9a-f]{12}, migration \d{4})\)$/.exec(each)?.[1],
    );

    expect(new Set(releases).size).toBe(1);
    expect(releases).not.toContain(undefined);
    expect(releases).toHaveLength(endpoints.length);
  });
});

describe("A release", () => {
  const [, prod] = settings.stages;
  const small = (change: object) => ({
    ...settings,
    databases: settings.databases.filter(({ name }) => name === "prod"),
    stages: prod ? [{ ...prod, ...change }] : [],
  });

  it("of other settings of one function has another name everywhere", async () => {
    const other = await synthesize(synthesis.functions, small({ publicRecords: { concurrent: 41 } }));
    const same = descriptionsOf(other.template("colophon-prod"));
    await other.remove();
    const another = await synthesize(synthesis.functions, small({ streams: { concurrent: 25, secondsMax: 121 } }));
    const different = descriptionsOf(another.template("colophon-prod"));
    await another.remove();

    // Reserved concurrency is no part of a version.
    expect(same).toEqual(descriptionsOf(template));
    expect(new Set([...different, ...same]).size).toBe(2 * endpoints.length);
  });

  describe("that is urgent", () => {
    let urgent: Synthesis;

    beforeAll(async () => {
      // As `cdk deploy -c urgent=true` says it.
      process.env.CDK_CONTEXT_JSON = JSON.stringify({ urgent: "true" });
      urgent = await synthesize(synthesis.functions, small({}));
    });
    afterAll(async () => {
      delete process.env.CDK_CONTEXT_JSON;
      await urgent?.remove();
    });

    it("differs in how deployments go and in their alarms, and in nothing else", () => {
      const shown = urgent.template("colophon-prod");
      for (const alias of shown.all("Lambda::Alias")) {
        const group = groupOf(shown, alias).Properties;
        expect(group.DeploymentConfigName).toBe("CodeDeployDefault.LambdaAllAtOnce");
        expect(group.AlarmConfiguration.Enabled).toBe(false);
      }
      const usual = shown.text
        .replaceAll("CodeDeployDefault.LambdaAllAtOnce", "CodeDeployDefault.LambdaCanary10Percent5Minutes")
        .replaceAll(/("Alarms":\[[^\]]*\],"Enabled"):false/g, "$1:true");
      expect(usual).toBe(template.text);
    });

    it("is urgent by no other word", async () => {
      process.env.CDK_CONTEXT_JSON = JSON.stringify({ urgent: "yes" });

      await expect(synthesize(synthesis.functions, small({}))).rejects.toThrow("only urgent=true");
    });
  });
});

function helpers() {
  const released = new Set(endpoints.map((each) => `colophon-prod-${functionName(each)}`));
  return {
    groupOf: (of: Template, alias: Template["resources"][number] | undefined) =>
      of.find(alias?.UpdatePolicy?.CodeDeployLambdaAliasUpdate.DeploymentGroupName),
    alarmsOf: (of: Template, group: Properties): string[] =>
      group.AlarmConfiguration.Alarms.map(({ Name }: Properties) => of.find(Name).Properties.AlarmName),
    descriptionsOf: (of: Template): string[] =>
      of
        .all("Lambda::Function")
        .filter(({ Properties }) => released.has(Properties.FunctionName))
        .map(({ Properties }) => Properties.Description),
  };
}
