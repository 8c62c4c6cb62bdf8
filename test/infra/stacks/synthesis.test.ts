import { appendFile, cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { Stack } from "aws-cdk-lib";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { isServed } from "../../../infra/api/document.ts";
import { makeApp } from "../../../infra/stacks/app.ts";
import { settings } from "../../../infra/stages.ts";
import { editContributor } from "../../../lib/contract/admin-contributors.ts";
import { functionName } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import {
  type Properties,
  stacks,
  stacksOf,
  synthesizeProd,
  type Template,
  templateText,
  useSynthesis,
} from "./synthesis.ts";

const synthesis = useSynthesis();
const root = join(import.meta.dirname, "../../..");

describe("npm run synth", () => {
  it("makes the stacks of the settings, each in its region, and needs to know nothing else of the account", async () => {
    const manifest = JSON.parse(await readFile(join(synthesis.directory, "manifest.json"), "utf8"));
    const made = await stacksOf(synthesis);

    expect(Object.keys(made).sort()).toEqual([...stacks].sort());
    const regions = { backup: "eu-west-1", alarms: "us-east-1", firewall: "us-east-1" } as Properties;
    for (const [stack, { environment }] of Object.entries(made)) {
      const region = regions[stack.split("-").at(-1) ?? ""] ?? "eu-central-1";
      // Only with credentials of this account the CDK's command line deploys.
      expect([stack, environment]).toEqual([stack, `aws://123456789012/${region}`]);
    }
    // The CDK's command line would ask the account for what is missing, and synthesise again.
    expect(manifest.missing).toBeUndefined();
  });

  it("protects stacks that hold data, or what those need, from being deleted by mistake", async () => {
    const made = Object.entries(await stacksOf(synthesis));

    expect(made.flatMap(([stack, { properties }]) => (properties.terminationProtection ? stack : [])).sort()).toEqual(
      ["account", "prod", "prod-backup", "prod-database", "prod-eu-central-1-firewall", "prod-image-backup"].map(
        (each) => `colophon-${each}`,
      ),
    );
  });

  it("gives stacks the tags by which bills are split", async () => {
    for (const [stack, { properties }] of Object.entries(await stacksOf(synthesis))) {
      const [, part = ""] = stack.split("-");
      const owner = /-(database|backup)$/.test(stack) && !stack.endsWith("-image-backup") ? "database" : "stage";
      expect([stack, properties.tags]).toEqual([
        stack,
        { application: "colophon", ...(part === "account" ? {} : { [owner]: part }) },
      ]);
    }
  });

  it("deploys a stage after its database and the account's stack", async () => {
    const made = await stacksOf(synthesis);
    for (const { name, database } of settings.stages) {
      expect(made[`colophon-${name}`]?.dependencies).toEqual(
        expect.arrayContaining(["colophon-account", `colophon-${database}-database`]),
      );
    }
  });

  it("names no machine", () => {
    for (const stack of stacks) expect(synthesis.template(stack).text).not.toContain(root);
  });

  it("makes nothing that can be deployed when sharp was not at hand", async () => {
    const packages = synthesis.functions.map((each) => ({ ...each, isComplete: !each.processesImages }));
    const { Rules } = await synthesizeProd(packages, {});

    expect(Rules?.Complete.Assertions[0].AssertDescription).toContain("npm run package");
  });

  it("makes nothing while cdk-nag finds something", async () => {
    const directory = await mkdtemp(join(inject("cache"), "careless-"));
    const app = makeApp({ ...settings, databases: [], stages: [] }, [], directory);
    new Bucket(new Stack(app, "careless"), "Open");

    expect(() => app.synth()).toThrow(/AwsSolutions-S1\b/);
    await rm(directory, { recursive: true });
  });
});

describe("A stage that has everything, and forty endpoints more", () => {
  const further = Array.from({ length: 40 }, (_, number) => ({
    ...editContributor,
    path: `/admin-further-records-${number}/edit/{id}` as const,
  }));
  let template: Template;

  beforeAll(async () => {
    const edit = synthesis.functions.find(({ name }) => name === functionName(editContributor));
    if (!edit) throw new Error("There is no such function");
    template = await synthesizeProd(
      [...synthesis.functions, ...further.map((each) => ({ ...edit, name: functionName(each) }))],
      { endpoints: [...endpoints, ...further] },
    );
  });

  it("is a template that CloudFormation takes, and prod is far from its limits", () => {
    expect(template.all("Lambda::Alias")).toHaveLength(endpoints.length + 40);
    expect(template.resources.length).toBeLessThanOrEqual(500);
    expect(template.text.length).toBeLessThanOrEqual(1_000_000);
    const prod = synthesis.template("colophon-prod");
    expect(prod.resources.length).toBeLessThanOrEqual(235);
    expect(prod.text.length).toBeLessThanOrEqual(290_000);
  });

  it("is deployed anew, since it leads to more", () => {
    const { id } = synthesis.template("colophon-prod").one("ApiGateway::Deployment");

    expect(template.one("ApiGateway::Deployment").id).not.toBe(id);
  });

  it.each(["Invoke", "Publish"])("has a role whose policy %s for every function is within what IAM takes", (policy) => {
    const { Policies } = template
      .each("IAM::Role")
      .find((role) => role.Policies?.some(({ PolicyName }: Properties) => PolicyName === policy)) as Properties;
    const place = { Partition: "aws", Region: "ap-southeast-2", AccountId: "123456789012" } as Properties;
    const alias = `arn:aws:lambda:ap-southeast-2:123456789012:function:${"x".repeat(64)}:live`;
    const written = JSON.stringify(Policies, (_, value) => {
      if (value?.["Fn::Join"]) return templateText(value).replaceAll(/\$\{AWS::(\w+)\}/g, (_, name) => place[name]);
      return value?.Ref ? alias : value;
    });

    expect(written.match(/arn:aws:lambda:/g)?.length).toBeGreaterThanOrEqual(endpoints.length + 40);
    // IAM, "IAM and AWS STS quotas": all inline policies of a role together.
    expect(written.length).toBeLessThanOrEqual(10_240);
  });
});

const releaseIn = (template: Template): string => template.one("Custom::Release").Properties.Release;

describe.each(settings.stages)("A release of stage $name", (stage) => {
  const served = endpoints.filter((each) => isServed(each, stage));

  it("moves all aliases after one resource, which has every function published and tried, and names it", () => {
    const template = synthesis.template(`colophon-${stage.name}`);
    const { id, Properties: release } = template.one("Custom::Release");
    const publisher = template.find(release.ServiceToken).Properties;

    expect(publisher.FunctionName).toBe(`colophon-${stage.name}-ops-release-on-deploy`);
    expect(Number(release.ServiceTimeout)).toBe(publisher.Timeout);
    const aliases = template.each("Lambda::Alias");
    const published = (functions: readonly unknown[]) => functions.map((each) => template.find(each).id).sort();
    expect(published(release.Functions)).toEqual(published(aliases.map(({ FunctionName }) => FunctionName)));
    expect(aliases.map(({ Name, FunctionVersion: version }) => `${Name} ${version["Fn::GetAtt"]}`).sort()).toEqual(
      served.map((each) => `live ${id},${functionName(each)}`).sort(),
    );
    const versions = template
      .each("Lambda::Function")
      .flatMap(({ Description }) => / \((release [0-9a-f]{12}, migration \d+)\)$/.exec(Description)?.[1] ?? []);
    const releases = new Set([...aliases.map(({ Description }) => Description), ...versions]);
    expect(versions).toHaveLength(served.length);
    expect([...releases]).toEqual([expect.stringContaining(release.Release)]);
  });
});

describe("A release", () => {
  const prod = settings.stages.find(({ name }) => name === "prod") ?? expect.fail("no prod");
  const released = (changes: Parameters<typeof synthesizeProd>[1], functions = synthesis.functions) =>
    synthesizeProd(functions, changes);
  const codesIn = (template: Template) =>
    template.each("Lambda::Function").map(({ FunctionName, Code }) => `${FunctionName} ${Code.S3Key}`);
  let usual: Template;

  beforeAll(async () => {
    usual = await released({});
  });

  it.each<[boolean, string, Parameters<typeof synthesizeProd>[1]]>([
    [true, "functions with other settings", { settings: { ...prod, streams: { concurrent: 25, secondsMax: 121 } } }],
    [true, "a restored database", { restoredFrom: "a snapshot" }],
    // It is no part of a version.
    [false, "another reserved concurrency", { settings: { ...prod, publicRecords: { concurrent: 41 } } }],
  ])("has another name: %s, with %s", async (isOther, _, changes) => {
    expect(releaseIn(await released(changes)) !== releaseIn(usual)).toBe(isOther);
  });

  it("has new code for the function alone that was edited", async () => {
    const folder = await mkdtemp(join(inject("cache"), "edited-"));
    const functions = synthesis.functions.map((each) => ({
      ...each,
      file: join(folder, each.endpointPath, "index.mjs"),
    }));
    await cp(join(inject("cache"), "artifacts"), folder, { recursive: true });
    await appendFile(join(folder, "admin-roles/edit/index.mjs"), "\n// edited\n");
    const edited = await released({}, functions);
    await rm(folder, { recursive: true });

    expect(codesIn(edited).filter((each) => !codesIn(usual).includes(each))).toEqual([
      expect.stringMatching(/^colophon-prod-admin-roles-edit /),
    ]);
    expect(releaseIn(edited)).not.toBe(releaseIn(usual));
  });
});
