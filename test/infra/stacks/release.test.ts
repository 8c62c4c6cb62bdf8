import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import { CfnDeploymentGroup } from "aws-cdk-lib/aws-codedeploy";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { isServed } from "../../../infra/api/document.ts";
import type { StageSettings } from "../../../infra/settings/schema.ts";
import { ApiStack } from "../../../infra/stacks/api-stack.ts";
import { makeApp } from "../../../infra/stacks/app.ts";
import { settings } from "../../../infra/stages.ts";
import { functionName } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { type Properties, parse, type Template, useSynthesis } from "./synthesis.ts";

const synthesis = useSynthesis();
const prod = settings.stages.find(({ name }) => name === "prod");
const served = endpoints.filter((each) => prod && isServed(each, prod));
const { alarmsOf, descriptionsOf, groupOf } = helpers();
let template: Template;

beforeAll(() => {
  template = synthesis.template("colophon-prod");
});

describe("A stage with gradual releases", () => {
  it("calls functions by aliases, whose traffic goes back when answers fail", () => {
    const aliases = template.all("Lambda::Alias");

    expect(aliases).toHaveLength(served.length);
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

    expect(policies).toEqual(served.map(() => ["Retain", "RetainExceptOnCreate"]));
  });

  it("names its release in the descriptions of all functions that it releases", () => {
    const releases = descriptionsOf(template).map(
      (each) => / \((release [0-9a-f]{12}, migration \d+)\)$/.exec(each)?.[1],
    );

    expect(new Set(releases).size).toBe(1);
    expect(releases).not.toContain(undefined);
    expect(releases).toHaveLength(served.length);
  });
});

describe("A release", () => {
  let usual: Template;

  beforeAll(async () => {
    usual = await synthesizeStage({});
  });

  it("has another name everywhere if one function has other settings, and the same if no version has", async () => {
    const different = descriptionsOf(
      await synthesizeStage({ settings: { streams: { concurrent: 25, secondsMax: 121 } } }),
    );
    // Reserved concurrency is no part of a version.
    const same = descriptionsOf(await synthesizeStage({ settings: { publicRecords: { concurrent: 41 } } }));

    expect(new Set([...different, ...descriptionsOf(usual)]).size).toBe(2 * served.length);
    expect(same).toEqual(descriptionsOf(usual));
  });

  it("that is urgent differs in how deployments go and in their alarms, and in nothing else", async () => {
    const urgent = await synthesizeStage({ isUrgent: true });

    for (const alias of urgent.all("Lambda::Alias")) {
      const group = groupOf(urgent, alias).Properties;
      expect(group.DeploymentConfigName).toBe("CodeDeployDefault.LambdaAllAtOnce");
      expect(group.AlarmConfiguration.Enabled).toBe(false);
      expect(alarmsOf(urgent, group)).toHaveLength(2);
    }
    const without = urgent.text
      .replaceAll("CodeDeployDefault.LambdaAllAtOnce", "CodeDeployDefault.LambdaCanary10Percent5Minutes")
      .replaceAll(/("Alarms":\[[^\]]*\],"Enabled"):false/g, "$1:true");
    expect(without).toBe(usual.text);
  });

  it("is urgent with `-c urgent=true`, and with no other word", async () => {
    const configsOf = async (context: object) => {
      // The command line of the CDK hands it over so.
      process.env.CDK_CONTEXT_JSON = JSON.stringify(context);
      const outdir = await mkdtemp(join(inject("cache"), "release-"));
      try {
        const groups = makeApp(settings, synthesis.functions, outdir)
          .node.findAll()
          .filter((each) => each instanceof CfnDeploymentGroup);
        return [...new Set(groups.map(({ deploymentConfigName }) => deploymentConfigName))];
      } finally {
        delete process.env.CDK_CONTEXT_JSON;
        await rm(outdir, { recursive: true });
      }
    };

    expect(await configsOf({})).toEqual(["CodeDeployDefault.LambdaCanary10Percent5Minutes"]);
    expect(await configsOf({ urgent: "true" })).toEqual(["CodeDeployDefault.LambdaAllAtOnce"]);
    await expect(configsOf({ urgent: "yes" })).rejects.toThrow("only urgent=true");
  });
});

/** Synthesises prod's stack alone, without cdk-nag. */
async function synthesizeStage(changes: { settings?: Partial<StageSettings>; isUrgent?: boolean }): Promise<Template> {
  if (!prod) throw new Error("There is no stage prod");
  const outdir = await mkdtemp(join(inject("cache"), "release-"));
  const features = { "@aws-cdk/core:suppressTemplateIndentation": true };
  const app = new App({ outdir, analyticsReporting: false, treeMetadata: false, context: features });
  new ApiStack(app, "colophon-prod", {
    settings: { ...prod, ...changes.settings },
    endpoints,
    packages: synthesis.functions,
    isUrgent: changes.isUrgent ?? false,
  });
  app.synth();
  const text = await readFile(join(outdir, "colophon-prod.template.json"), "utf8");
  await rm(outdir, { recursive: true });
  return parse(text);
}

function helpers() {
  const released = new Set(served.map((each) => `colophon-prod-${functionName(each)}`));
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
