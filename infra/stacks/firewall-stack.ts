import { ArnFormat, CfnOutput, Fn, Stack, type StackProps } from "aws-cdk-lib";
import { CfnLoggingConfiguration } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import type { Declaration } from "../../lib/contract/declare.ts";
import { isServed } from "../api/document.ts";
import type { FirewallSettings, StageSettings } from "../settings/schema.ts";
import { type ManagedRules, makeWebAcl } from "./edge/web-acl.ts";
import { type DistributionName, webAclName, webAclsOf } from "./monitoring/cdn-metrics.ts";
import { makeLog } from "./shared/log.ts";

/** The ARNs of the web ACLs of a stage's distributions. */
export interface EdgeFirewall {
  readonly api: string;
  readonly images: string;
}

export interface FirewallStackProps extends Pick<StackProps, "env" | "tags" | "synthesizer"> {
  /** The prefix of global names. */
  readonly prefix: string;
  readonly settings: StageSettings;
  readonly firewall: FirewallSettings;
  readonly endpoints: readonly Declaration[];
}

/**
 * Against requests that only attackers send. Rules that look at bodies only count: signed-in editors send them, and a
 * description may quote what it likes.
 */
const knownBadInputs: ManagedRules = {
  name: "known-bad-inputs",
  group: "AWSManagedRulesKnownBadInputsRuleSet",
  countOnly: ["JavaDeserializationRCE_BODY", "Log4JRCE_BODY", "ReactJSRCE_BODY"],
};

/** The firewall before a stage's distributions, and the log of what it blocks. CloudFront takes it from us-east-1 only. */
export class FirewallStack extends Stack {
  /** For stacks of every region. CloudFormation reads the outputs when it deploys these. */
  readonly acls: EdgeFirewall;

  constructor(scope: Construct, id: string, props: FirewallStackProps) {
    const { prefix, settings, firewall, endpoints, ...stackProps } = props;
    super(scope, id, {
      ...stackProps,
      description: `Colophon: the firewall before CloudFront, of stage ${settings.name}`,
      terminationProtection: settings.isProtected,
    });
    // WAF takes only logs whose names begin like this, and their ARNs without the `:*` that CloudFormation gives.
    const { logGroupName } = makeLog(this, "Log", `aws-waf-logs-${prefix}`, settings);
    const log = this.formatArn({
      service: "logs",
      resource: "log-group",
      resourceName: logGroupName,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    const makeAcl = (name: string, before: DistributionName): string => {
      const construct = new Construct(this, name);
      const arn = makeWebAcl(construct, {
        name: webAclName(prefix, before),
        settings: firewall,
        endpoints: endpoints.filter((each) => isServed(each, settings)),
        scope: "CLOUDFRONT",
        managed: knownBadInputs,
      });
      new CfnLoggingConfiguration(construct, "Logging", {
        resourceArn: arn,
        logDestinationConfigs: [log],
        loggingFilter: onlyBlocked,
      });
      new CfnOutput(construct, "Arn", { value: arn }).overrideLogicalId(name);
      return Fn.getStackOutput(this.stackName, name, this.region);
    };
    const [first = "edge", second] = webAclsOf(settings);
    const api = makeAcl("Acl", first);
    this.acls = { api, images: second ? makeAcl("ImagesAcl", second) : api };
  }
}

/** WAF, "LoggingFilter". */
const onlyBlocked = {
  DefaultBehavior: "DROP",
  Filters: [{ Behavior: "KEEP", Requirement: "MEETS_ANY", Conditions: [{ ActionCondition: { Action: "BLOCK" } }] }],
};
