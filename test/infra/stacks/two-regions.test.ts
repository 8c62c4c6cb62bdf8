import { describe, expect, it } from "vitest";
import { changedSynthesis, type Properties, type Resource, synthesis, templateText } from "./synthesis.ts";

const there = await changedSynthesis();

/** What an account has once, whatever the region: the property with the name, if it has one. */
const globalNames: Readonly<Record<string, string>> = {
  "AWS::Budgets::Budget": "Budget.BudgetName",
  "AWS::CloudFront::CachePolicy": "CachePolicyConfig.Name",
  "AWS::CloudFront::Distribution": "DistributionConfig.Aliases",
  "AWS::CloudFront::Function": "Name",
  "AWS::CloudFront::OriginAccessControl": "OriginAccessControlConfig.Name",
  "AWS::CloudFront::OriginRequestPolicy": "OriginRequestPolicyConfig.Name",
  "AWS::CloudFront::ResponseHeadersPolicy": "ResponseHeadersPolicyConfig.Name",
  "AWS::CloudWatch::Dashboard": "DashboardName",
  "AWS::IAM::OIDCProvider": "Url",
  "AWS::IAM::Policy": "",
  "AWS::IAM::Role": "RoleName",
  "AWS::S3::Bucket": "BucketName",
  "AWS::S3::BucketPolicy": "",
};
const isOfGlobalService = (type: string) => /^AWS::(Budgets|CloudFront|IAM|S3|Route53)::/.test(type);

/** What a region has once: the property with the name. */
const regionalNames: Readonly<Record<string, string>> = {
  "AWS::ApiGateway::RestApi": "Name",
  "AWS::Backup::BackupVault": "BackupVaultName",
  "AWS::CloudTrail::Trail": "TrailName",
  "AWS::CloudWatch::Alarm": "AlarmName",
  "AWS::Lambda::Function": "FunctionName",
  "AWS::Logs::LogGroup": "LogGroupName",
  "AWS::SSM::Parameter": "Name",
  "AWS::WAFv2::WebACL": "Name",
};

/** `global AWS::S3::Bucket name`, or a region instead of `global`. Names that have a resource's id in them are unique. */
function namesOf({ Type, Properties = {} }: Resource, where: string): string[] {
  const property = globalNames[Type] ?? regionalNames[Type];
  const value = property
    ?.split(".")
    .reduce<unknown>((its, each) => (its as Properties | undefined)?.[each], Properties);
  const names = [value ?? []].flat().map(templateText);
  const fixed = names.filter((each) => !each.includes("\u0024{"));
  return fixed.map((each) => `${Type in globalNames ? "global" : where} ${Type} ${each}`);
}

/** Every stack with its region, and every name that it takes. */
const takenBy = ({ stacks, template }: typeof synthesis): string[] =>
  Object.entries(stacks).flatMap(([stack, { environment }]) => {
    const { resources } = template(stack);
    const where: string = environment.split("/").at(-1);
    // What is global in a type that is new here must be written down above.
    expect(resources.filter(({ Type }) => isOfGlobalService(Type) && !(Type in globalNames))).toEqual([]);
    return [`${where} stack ${stack}`, ...resources.flatMap((each) => namesOf(each, where))];
  });

describe("The same stages in another region", () => {
  it("take no name that they take in their own", () => {
    const [one, other] = [takenBy(synthesis), takenBy(there)];

    expect(one.filter((each) => other.includes(each))).toEqual([]);
    expect(one).toContain("global AWS::CloudFront::Distribution api.example.com");
    for (const taken of [one, other]) expect(taken.filter((each, at) => taken.indexOf(each) < at)).toEqual([]);
  });

  it("are there without their aliases, ready to take them", () => {
    const { text, each } = there.template("colophon-prod");
    for (const { DistributionConfig } of each("CloudFront::Distribution"))
      expect(DistributionConfig).not.toHaveProperty("Aliases");
    // Nothing of a stage without copies is in the lost region.
    expect(text).toContain("eu-central-1");
    expect(there.template("colophon-dev").text).not.toContain("eu-central-1");
  });

  it("are deployed by the qualifier of their database, and only the account's stacks by the CDK's own", () => {
    for (const [name, { properties }] of Object.entries(there.stacks)) {
      const [, part = ""] = name.split("-");
      const qualifier = /^(account|pipeline)$/.test(part) ? "hnb659fds" : `col${part}`;
      expect([name, /cdk-(\w+)-deploy-role/.exec(properties.assumeRoleArn)?.[1]]).toEqual([name, qualifier]);
    }
    // IAM is there, so the stack stays when the stages move.
    expect(there.stacks["colophon-pipeline"]?.environment).toBe("aws://123456789012/us-east-1");
  });
});
