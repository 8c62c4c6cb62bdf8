import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Settings } from "../../../infra/settings/schema.ts";
import { settings } from "../../../infra/stages.ts";
import {
  manifestOf,
  type Properties,
  type Resource,
  type Synthesis,
  stacks,
  synthesize,
  templateText,
  useSynthesis,
} from "./synthesis.ts";

const here = useSynthesis();
const lost = settings.account.region;
const region = "eu-west-1";

/**
 * As the page has it under "When the region is lost": the region of the copies becomes that of the stage. There is a
 * pipeline, too.
 */
const moved: Settings = {
  ...settings,
  account: { ...settings.account, region, pipeline: { repository: "example/colophon" } },
  databases: settings.databases.map(({ zones: _, ...each }) => ({
    ...each,
    qualifier: `col${each.name}`,
    ...(each.backupRegion ? { backupRegion: lost } : {}),
  })),
  stages: settings.stages.map((each) => ({
    ...each,
    hasAliases: false,
    ...(each.imageBackupRegion ? { imageBackupRegion: lost } : {}),
  })),
};
let there: Synthesis;

beforeAll(async () => {
  there = await synthesize(here.functions, moved);
});

afterAll(() => there?.remove());

type Names = (properties: Properties) => readonly unknown[];

/** What an account has once, whatever the region. */
const globalNames: Readonly<Record<string, Names>> = {
  "AWS::Budgets::Budget": ({ Budget }) => [Budget.BudgetName],
  "AWS::CloudFront::CachePolicy": ({ CachePolicyConfig }) => [CachePolicyConfig.Name],
  "AWS::CloudFront::Distribution": ({ DistributionConfig }) => DistributionConfig.Aliases ?? [],
  "AWS::CloudFront::OriginAccessControl": ({ OriginAccessControlConfig }) => [OriginAccessControlConfig.Name],
  "AWS::CloudFront::OriginRequestPolicy": ({ OriginRequestPolicyConfig }) => [OriginRequestPolicyConfig.Name],
  "AWS::CloudFront::ResponseHeadersPolicy": ({ ResponseHeadersPolicyConfig }) => [ResponseHeadersPolicyConfig.Name],
  "AWS::CloudWatch::Dashboard": ({ DashboardName }) => [DashboardName],
  "AWS::IAM::OIDCProvider": ({ Url }) => [Url],
  "AWS::IAM::Policy": () => [],
  "AWS::IAM::Role": ({ RoleName }) => [RoleName],
  "AWS::S3::Bucket": ({ BucketName }) => [BucketName],
  "AWS::S3::BucketPolicy": () => [],
};
const isOfGlobalService = (type: string) => /^AWS::(Budgets|CloudFront|IAM|S3|Route53)::/.test(type);

/** What a region has once. */
const regionalNames: Readonly<Record<string, Names>> = {
  "AWS::ApiGateway::RestApi": ({ Name }) => [Name],
  "AWS::Backup::BackupVault": ({ BackupVaultName }) => [BackupVaultName],
  "AWS::CloudTrail::Trail": ({ TrailName }) => [TrailName],
  "AWS::CloudWatch::Alarm": ({ AlarmName }) => [AlarmName],
  "AWS::Lambda::Function": ({ FunctionName }) => [FunctionName],
  "AWS::Logs::LogGroup": ({ LogGroupName }) => [LogGroupName],
  "AWS::SSM::Parameter": ({ Name }) => [Name],
  "AWS::WAFv2::WebACL": ({ Name }) => [Name],
};

/** `global AWS::S3::Bucket name`, or a region instead of `global`. Names that have a resource's id in them are unique. */
function namesOf({ Type, Properties = {} }: Resource, where: string): string[] {
  const names = (globalNames[Type] ?? regionalNames[Type] ?? (() => []))(Properties).filter(
    (each) => each !== undefined,
  );
  const written = names.map(templateText).filter((each) => !each.includes("${"));
  return written.map((each) => `${Type in globalNames ? "global" : where} ${Type} ${each}`);
}

/** Every stack with its region, and every name that it takes. */
async function takenBy(synthesis: Pick<Synthesis, "directory" | "template">) {
  const { artifacts } = await manifestOf(synthesis);
  const stacks = Object.entries<Properties>(artifacts).filter(([, { type }]) => type === "aws:cloudformation:stack");
  const taken = stacks.flatMap(([stack, { environment }]) => {
    const where: string = environment.split("/").at(-1);
    const { resources } = synthesis.template(stack);
    return [`${where} stack ${stack}`, ...resources.flatMap((each) => namesOf(each, where))];
  });
  const types = stacks.flatMap(([stack]) => synthesis.template(stack).resources.map(({ Type }) => Type));
  return { taken, types };
}

describe("The same stages in another region", () => {
  it("take no name that they take in their own", async () => {
    const [one, other] = await Promise.all([takenBy(here), takenBy(there)]);

    expect(one.taken.filter((each) => other.taken.includes(each))).toEqual([]);
    expect(one.taken).toContain("global AWS::CloudFront::Distribution api.example.com");
    for (const { taken } of [one, other]) expect(taken.filter((each, at) => taken.indexOf(each) < at)).toEqual([]);
    // What is global in a type that is new here must be written down above.
    expect([...one.types, ...other.types].filter((each) => isOfGlobalService(each) && !(each in globalNames))).toEqual(
      [],
    );
  });

  it("are there without their aliases, ready to take them", () => {
    const distributions = there.template("colophon-prod").all("CloudFront::Distribution");

    expect(distributions).toHaveLength(2);
    for (const { Properties } of distributions) {
      expect(Properties.DistributionConfig).not.toHaveProperty("Aliases");
      expect(Properties.DistributionConfig.ViewerCertificate.AcmCertificateArn).toMatch(/^arn:aws:acm:us-east-1:/);
    }
  });

  it("are deployed by the qualifier of their database, and only the account's stacks by the CDK's own", async () => {
    const { artifacts } = await manifestOf(there);
    const roleOf = (stack: string) => /cdk-(\w+)-deploy-role/.exec(artifacts[stack].properties.assumeRoleArn)?.[1];
    const names = Object.keys(artifacts).filter((each) => artifacts[each].type === "aws:cloudformation:stack");

    expect(names).toHaveLength(stacks.length + 1);
    for (const name of names) {
      const [, part = ""] = name.split("-");
      expect([name, roleOf(name)]).toEqual([name, /^(account|pipeline)$/.test(part) ? "hnb659fds" : `col${part}`]);
    }
    expect(artifacts["colophon-pipeline"].environment).toBe(`aws://${settings.account.id}/us-east-1`);
  });
});
