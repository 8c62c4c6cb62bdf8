import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { Stack } from "aws-cdk-lib";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { describe, expect, inject, it } from "vitest";
import { bundleOf } from "../../../infra/api/whole-lists.ts";
import { settings } from "../../../infra/settings/settings.ts";
import { makeApp } from "../../../infra/stacks/app.ts";
import { editContributor } from "../../../lib/contract/admin-contributors.ts";
import { functionName } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { functions, type Properties, prod, stacks, synthesis, synthesizeProd, type Template } from "./synthesis.ts";

describe("npm run synth", () => {
  it("makes stacks each in its region, protected where data are lost with it, with the tags by which bills are split", () => {
    const made = Object.entries(synthesis.stacks).map(([stack, { environment, properties }]) => {
      const { application, database, stage } = properties.tags;
      const protection = properties.terminationProtection ? "protected" : "deletable";
      // Only with credentials of this account the CDK's command line deploys.
      expect([application, environment]).toEqual(["colophon", expect.stringMatching(/^aws:\/\/123456789012\//)]);
      return [stack, environment.split("/").at(-1), protection, database ?? "", stage ?? ""];
    });

    expect(made.sort()).toEqual([
      ["colophon-account", "eu-central-1", "protected", "", ""],
      ["colophon-dev", "eu-central-1", "deletable", "", "dev"],
      ["colophon-dev-database", "eu-central-1", "deletable", "dev", ""],
      ["colophon-prod", "eu-central-1", "protected", "", "prod"],
      ["colophon-prod-backup", "eu-west-1", "protected", "prod", ""],
      ["colophon-prod-database", "eu-central-1", "protected", "prod", ""],
      ["colophon-prod-eu-central-1-cdn-alarms", "us-east-1", "deletable", "", "prod"],
      ["colophon-prod-eu-central-1-firewall", "us-east-1", "protected", "", "prod"],
      ["colophon-prod-image-backup", "eu-west-1", "protected", "", "prod"],
    ]);
    // The CDK's command line would ask the account for what is missing, and synthesise again.
    expect(synthesis.manifest.missing).toBeUndefined();
  });

  it("deploys a stage after its database and the account's stack, and names no machine", () => {
    for (const { name, database } of settings.stages) {
      expect(synthesis.stacks[`colophon-${name}`]?.dependencies).toEqual(
        expect.arrayContaining(["colophon-account", `colophon-${database}-database`]),
      );
    }
    for (const stack of stacks) expect(synthesis.template(stack).text).not.toContain(process.cwd());
  });

  it("deploys each function once, to a stage with all features or to its database", () => {
    const deployed = ["colophon-prod", "colophon-prod-database"]
      .flatMap((stack) => synthesis.template(stack).each("Lambda::Function"))
      .map(({ FunctionName }) => FunctionName.replace("colophon-prod-", ""));

    expect([...new Set(deployed.map(bundleOf))].sort()).toEqual(functions.map(({ name }) => name).sort());
    expect(new Set(deployed).size).toBe(deployed.length);
  });

  it("makes nothing that can be deployed when sharp was not at hand", async () => {
    const packages = functions.map((each) => ({ ...each, isComplete: !each.processesImages }));
    const { Rules } = await synthesizeProd({ packages });

    expect(Rules?.Complete.Assertions[0].AssertDescription).toContain("npm run package");
  });

  it("makes buckets that are read over TLS 1.2 alone", () => {
    for (const template of stacks.map(synthesis.template)) {
      const policies = template.each("S3::BucketPolicy");
      const buckets = template.all("S3::Bucket").map(({ id }) => id);
      expect(policies.map(({ Bucket }) => template.find(Bucket).id).sort()).toEqual(buckets.sort());
      const old = { Effect: "Deny", Condition: { NumericLessThan: { "s3:TlsVersion": 1.2 } } };
      for (const { PolicyDocument } of policies)
        expect(PolicyDocument.Statement).toContainEqual(expect.objectContaining(old));
    }
  });

  it("makes nothing while cdk-nag finds something", async () => {
    const directory = await mkdtemp(join(inject("cache"), "careless-"));
    const app = makeApp({ ...settings, databases: [], stages: [] }, [], directory);
    new Bucket(new Stack(app, "careless"), "Open");

    expect(() => app.synth()).toThrow(/AwsSolutions-S1\b/);
  });
});

it.each(stacks)("The resources of %s depend on each other in no circle, which CloudFormation would refuse", (stack) => {
  const { resources } = synthesis.template(stack);
  const ids = new Set(resources.map(({ id }) => id));
  /** The resources that a part of a template refers to. */
  const named = (value: unknown): string[] => {
    if (typeof value !== "object" || value === null) return [];
    const { Ref, "Fn::GetAtt": attribute } = value as Properties;
    const text = JSON.stringify((value as Properties)["Fn::Sub"] ?? "");
    const inText = [...text.matchAll(/\$\{(\w+)/g)].map(([, id = ""]) => id);
    return [Ref, attribute?.[0], ...inText, ...Object.values(value).flatMap(named)].filter((id) => ids.has(id));
  };
  const open = new Map(
    resources.map(({ id, Properties, DependsOn = [] }) => [id, new Set([...named(Properties), ...[DependsOn].flat()])]),
  );
  for (let before = -1; open.size !== before; ) {
    before = open.size;
    for (const [id, needed] of open) if (![...needed].some((each) => open.has(each))) open.delete(id);
  }

  expect([...open.keys()]).toEqual([]);
});

describe("prod", () => {
  const { resources, text, each } = synthesis.template("colophon-prod");

  it("leaves room for twice as many endpoints in a template that CloudFormation takes", () => {
    expect(resources.length).toBeLessThanOrEqual(500 / 2);
    expect(text.length).toBeLessThanOrEqual(1_000_000 / 2);
  });

  it("has a policy for all functions that API Gateway calls that is far from what IAM takes", () => {
    const policies: Properties[] = each("IAM::Role").flatMap(({ Policies = [] }) => Policies);
    const arns = policies
      .filter(({ PolicyName }) => PolicyName === "Invoke")
      .flatMap(({ PolicyDocument }) => PolicyDocument.Statement.flatMap(({ Resource }: Properties) => Resource));
    const longest = `"arn:aws:lambda:ap-southeast-2:123456789012:function:${"x".repeat(64)}:live",`;

    expect(arns.length).toBeGreaterThanOrEqual(endpoints.length);
    // IAM, "IAM and AWS STS quotas": all inline policies of a role together.
    expect(arns.length * longest.length).toBeLessThanOrEqual(10_240 * 0.6);
  });
});

const releaseIn = (template: Template): string => template.one("Custom::Release").Properties.Release;

describe("A release", async () => {
  const usual = await synthesizeProd({});
  const isEdit = ({ name }: { readonly name: string }) => name === functionName(editContributor);
  const otherFile = functions.find((each) => !isEdit(each))?.file ?? "";
  it.each(settings.stages)(
    "of stage $name moves all aliases after one resource, which has every function published and tried, and names it",
    (stage) => {
      const template = synthesis.template(`colophon-${stage.name}`);
      const all = template
        .each("Lambda::Function")
        .map((each) => each.FunctionName.replace(`colophon-${stage.name}-`, ""));
      // What releases the others is not released itself.
      const names = all.filter((each) => each !== "ops-release-on-deploy");
      const { id, Properties: release } = template.one("Custom::Release");
      const publisher = template.find(release.ServiceToken).Properties;
      const aliases = template.each("Lambda::Alias");
      const published = (references: readonly unknown[]) => references.map((each) => template.find(each).id).sort();

      expect(publisher.FunctionName).toBe(`colophon-${stage.name}-ops-release-on-deploy`);
      expect(Number(release.ServiceTimeout)).toBe(publisher.Timeout);
      expect(published(release.Functions)).toEqual(published(aliases.map(({ FunctionName }) => FunctionName)));
      expect(aliases.map(({ Name, FunctionVersion: version }) => `${Name} ${version["Fn::GetAtt"]}`).sort()).toEqual(
        names.map((each) => `live ${id},${each}`).sort(),
      );
      const versions = template
        .each("Lambda::Function")
        .flatMap(({ Description }) => / \((release [0-9a-f]{12}, migration \d+)\)$/.exec(Description)?.[1] ?? []);
      const releases = new Set([...aliases.map(({ Description }) => Description), ...versions]);
      expect(versions).toHaveLength(names.length);
      expect(names).toEqual(expect.arrayContaining(["contributors-list", "ops-tidy", "ops-undo"]));
      // Requests come after all aliases have moved.
      const { DependsOn = [] } = template.one("ApiGateway::Stage");
      expect(DependsOn).toEqual(expect.arrayContaining(template.all("Lambda::Alias").map((each) => each.id)));
      expect([...releases]).toEqual([expect.stringContaining(release.Release)]);
    },
  );

  it.each([
    {
      what: "functions with other settings",
      changes: { settings: { ...prod, streams: { ...prod.streams, secondsMax: 121 } } },
    },
    { what: "a restored database", changes: { restoredFrom: "a snapshot" } },
    {
      what: "other code",
      changes: { packages: functions.map((each) => (isEdit(each) ? { ...each, file: otherFile } : each)) },
    },
  ])("has another name with $what", async ({ changes }) => {
    expect(releaseIn(await synthesizeProd(changes))).not.toBe(releaseIn(usual));
  });

  it("has the same name with another reserved concurrency, which is no part of a version", async () => {
    const changed = await synthesizeProd({ settings: { ...prod, publicRecords: { concurrent: 41 } } });

    expect(releaseIn(changed)).toBe(releaseIn(usual));
  });
});
