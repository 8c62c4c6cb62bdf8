import { RemovalPolicy, SecretValue, type Stack } from "aws-cdk-lib";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { CfnLoggingConfiguration } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import type { FirewallSettings, StageSettings } from "../settings/schema.ts";
import { makeWebAcl } from "./edge/web-acl.ts";
import { type DistributionName, webAclName, webAclsOf } from "./monitoring/cdn.ts";
import { acknowledge } from "./shared/acknowledge.ts";
import { globalPrefix } from "./shared/global-prefix.ts";
import { makeLog } from "./shared/log.ts";

/** The ARNs of the web ACLs of a stage's distributions, as references that CloudFormation resolves. */
export type WebAcls = Partial<Readonly<Record<DistributionName, string>>>;

/**
 * The firewall before a stage's distributions, and the log of what it blocks. CloudFront takes it from us-east-1 only.
 * @param stageRegion the region of the stage's own stack
 */
export function addFirewall(
  stack: Stack,
  settings: StageSettings,
  firewall: FirewallSettings,
  stageRegion: string,
): WebAcls {
  const prefix = globalPrefix(`colophon-${settings.name}`, stageRegion);
  // WAF takes only logs whose names begin like this, and their ARNs without the `:*` that CloudFormation gives.
  const { logGroupName } = makeLog(stack, "Log", `aws-waf-logs-${prefix}`, settings);
  const log = stack.formatArn({ service: "logs", resource: `log-group:${logGroupName}` });
  const makeAcl = (id: string, before: DistributionName): string => {
    const construct = new Construct(stack, id);
    const name = webAclName(prefix, before);
    const arn = makeWebAcl(construct, { settings, firewall, name, scope: "CLOUDFRONT" });
    new CfnLoggingConfiguration(construct, "Logging", {
      resourceArn: arn,
      logDestinationConfigs: [log],
      loggingFilter: onlyBlocked,
    });
    // The ARN is no secret, but Secrets Manager is what copies a text to another region by itself. So a fault of
    // us-east-1 does not stop a deployment of the stage.
    const secretName = `/colophon/${name}-web-acl`;
    const secret = new Secret(construct, "Published", {
      secretName,
      description: "The ARN of a web ACL, for the region of its stage",
      secretStringValue: SecretValue.unsafePlainText(arn),
      replicaRegions: stageRegion === stack.region ? [] : [{ region: stageRegion }],
      removalPolicy: RemovalPolicy.DESTROY,
    });
    acknowledge(secret, { "AwsSolutions-SMG4": "It is an ARN, which nobody has to hide." });
    return SecretValue.secretsManager(secretName).unsafeUnwrap();
  };
  const [first = "edge", second] = webAclsOf(settings);
  const edge = makeAcl("Acl", first);
  return { edge, images: second ? makeAcl("ImagesAcl", second) : edge };
}

/** WAF, "LoggingFilter". */
const onlyBlocked = {
  DefaultBehavior: "DROP",
  Filters: [{ Behavior: "KEEP", Requirement: "MEETS_ANY", Conditions: [{ ActionCondition: { Action: "BLOCK" } }] }],
};
