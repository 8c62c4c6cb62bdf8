import { CfnCondition, CfnOutput, CfnParameter, Fn, type Stack } from "aws-cdk-lib";
import { CfnLoggingConfiguration } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import type { FirewallSettings, StageSettings } from "../settings/schema.ts";
import { makeWebAcl } from "./edge/web-acl.ts";
import { type DistributionName, webAclName, webAclsOf } from "./monitoring/cdn.ts";
import { globalPrefix } from "./shared/global-prefix.ts";
import { makeLog } from "./shared/log.ts";

/** The ARNs of the web ACLs of a stage's distributions, as references that CloudFormation resolves. */
export type WebAcls = Partial<Readonly<Record<DistributionName, string>>>;

/**
 * The firewall before a stage's distributions, and the log of what it blocks. CloudFront takes it from us-east-1 only.
 * @param stage the stack that has the distributions
 */
export function addFirewall(stack: Stack, settings: StageSettings, firewall: FirewallSettings, stage: Stack): WebAcls {
  const prefix = globalPrefix(`colophon-${settings.name}`, stage.region);
  // WAF takes only logs whose names begin like this, and their ARNs without the `:*` that CloudFormation gives.
  const { logGroupName } = makeLog(stack, "Log", `aws-waf-logs-${prefix}`, settings);
  const log = stack.formatArn({ service: "logs", resource: `log-group:${logGroupName}` });
  const makeAcl = (id: string, before: DistributionName): string => {
    const construct = new Construct(stack, id);
    const arn = makeWebAcl(construct, { settings, firewall, name: webAclName(prefix, before), scope: "CLOUDFRONT" });
    new CfnLoggingConfiguration(construct, "Logging", {
      resourceArn: arn,
      logDestinationConfigs: [log],
      loggingFilter: onlyBlocked,
    });
    return referTo(arn, stack, stage, `${before === "edge" ? "Edge" : "Images"}WebAcl`);
  };
  const [first = "edge", second] = webAclsOf(settings);
  const edge = makeAcl("Acl", first);
  return { edge, images: second ? makeAcl("ImagesAcl", second) : edge };
}

/**
 * The ARN of a web ACL in the stack of the stage: an output of the other region. While that region does not respond, a
 * parameter has the ARN instead, which an output of the stage's own stack shows.
 */
function referTo(arn: string, stack: Stack, stage: Stack, name: string): string {
  new CfnOutput(stack, name, { value: arn });
  const { valueAsString: given } = new CfnParameter(stage, name, {
    default: "",
    description: `The ARN of the web ACL, while ${stack.region} does not respond`,
  });
  const isGiven = new CfnCondition(stage, `${name}IsGiven`, {
    expression: Fn.conditionNot(Fn.conditionEquals(given, "")),
  });
  const found = Fn.getStackOutput(stack.stackName, name, stack.region);
  const value = Fn.conditionIf(isGiven.logicalId, given, found).toString();
  new CfnOutput(stage, `${name}Arn`, { value });
  return value;
}

/** WAF, "LoggingFilter". */
const onlyBlocked = {
  DefaultBehavior: "DROP",
  Filters: [{ Behavior: "KEEP", Requirement: "MEETS_ANY", Conditions: [{ ActionCondition: { Action: "BLOCK" } }] }],
};
