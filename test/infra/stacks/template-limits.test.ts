import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { ApiStack } from "../../../infra/stacks/api-stack.ts";
import { settings } from "../../../infra/stages.ts";
import { editContributor } from "../../../lib/contract/admin-contributors.ts";
import { declare, functionName } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { type Properties, templateText, useSynthesis } from "./synthesis.ts";

const synthesis = useSynthesis();

const further = Array.from({ length: 40 }, (_, number) =>
  declare({ ...editContributor, path: `/admin-further-records-${number}/edit/{id}` }),
);

const [everything] = settings.stages.filter(({ uploads, signIn }) => uploads && signIn);

describe("A stage that has everything, and forty endpoints more", () => {
  let template: Properties;
  let resources: Properties[];

  beforeAll(async () => {
    const edit = synthesis.functions.find(({ name }) => name === functionName(editContributor));
    if (!everything || !edit) throw new Error("No stage has everything");
    const outdir = await mkdtemp(join(inject("cache"), "room-"));
    const app = new App({ outdir, analyticsReporting: false, treeMetadata: false });
    const stack = new ApiStack(app, "roomy", {
      settings: everything,
      endpoints: [...endpoints, ...further],
      packages: [...synthesis.functions, ...further.map((each) => ({ ...edit, name: functionName(each) }))],
    });
    template = app.synth().getStackArtifact(stack.artifactId).template;
    resources = Object.values(template.Resources);
    await rm(outdir, { recursive: true });
  });

  it("is a template that CloudFormation takes", () => {
    expect(resources.filter(({ Type }) => Type === "AWS::Lambda::Alias")).toHaveLength(endpoints.length + 40);
    expect(resources.length).toBeLessThanOrEqual(500);
    expect(JSON.stringify(template).length).toBeLessThanOrEqual(1_000_000);
  });

  it("is deployed anew, since it leads to more", () => {
    const { id } = synthesis.template(`colophon-${everything?.name}`).one("ApiGateway::Deployment");
    const deployments = Object.keys(template.Resources).filter((each) => each.startsWith(id.slice(0, -32)));

    expect(deployments).toHaveLength(1);
    expect(deployments).not.toEqual([id]);
  });

  it("lets the API's role name every function within what IAM takes", () => {
    const role = resources.find(({ Properties }) => Properties?.Policies?.[0]?.PolicyName === "Invoke");
    const name = "x".repeat(64);
    const written = JSON.stringify(role?.Properties.Policies[0].PolicyDocument).replaceAll(
      /\{"Ref":"\w+"\}/g,
      `"arn:aws:lambda:ap-southeast-2:123456789012:function:${name}:live"`,
    );

    expect(written).toContain(name);
    // IAM, "IAM and AWS STS quotas": all inline policies of a role together.
    expect(written.length).toBeLessThanOrEqual(10_240);
  });

  it("lets the role of releases name the versions of every function within what IAM takes", () => {
    const role = resources.find(({ Properties }) =>
      Properties?.Policies?.some(({ PolicyName }: Properties) => PolicyName === "Publish"),
    );
    const documents = role?.Properties.Policies.map(({ PolicyDocument }: Properties) => PolicyDocument);
    const place: Properties = { Partition: "aws", Region: "ap-southeast-2", AccountId: "123456789012" };
    const inPlace = (arn: object) => templateText(arn).replaceAll(/\$\{AWS::(\w+)\}/g, (_, name) => place[name]);
    const written = JSON.stringify(documents, (_, value) => (value?.["Fn::Join"] ? inPlace(value) : value));

    expect(written).toMatch(/"arn:aws:lambda:[\w-]+:\d+:function:colophon-prod-session:\*"/);
    expect(written.length).toBeLessThanOrEqual(10_240);
  });
});
