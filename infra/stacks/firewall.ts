import { CfnWebACL, CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";

export interface FirewallProps {
  readonly name: string;
  readonly requestsPerAddressIn5Minutes: number;
  /** The ARN of the API's stage. */
  readonly protects: string;
}

/**
 * Rules that only count. Bodies are JSON of signed-in editors, whose size and content the functions check: descriptions
 * of 20,000 characters that may well speak of HTML, and images of megabytes, in whose Base64 any pattern turns up.
 */
const countOnly = ["SizeRestrictions_BODY", "CrossSiteScripting_BODY", "GenericLFI_BODY", "GenericRFI_BODY"];

/** AWS WAF: so many requests an address, and the rules that AWS keeps against common attacks. */
export class Firewall extends Construct {
  constructor(scope: Construct, id: string, { name, requestsPerAddressIn5Minutes, protects }: FirewallProps) {
    super(scope, id);
    const visibility = (metric: string) => ({
      cloudWatchMetricsEnabled: true,
      sampledRequestsEnabled: true,
      metricName: `${name}-${metric}`,
    });
    const acl = new CfnWebACL(this, "Acl", {
      scope: "REGIONAL",
      defaultAction: { allow: {} },
      visibilityConfig: visibility("all"),
      rules: [
        {
          name: "rate",
          priority: 0,
          action: { block: {} },
          statement: {
            rateBasedStatement: {
              aggregateKeyType: "IP",
              evaluationWindowSec: 300,
              limit: requestsPerAddressIn5Minutes,
            },
          },
          visibilityConfig: visibility("rate"),
        },
        {
          name: "common",
          priority: 1,
          overrideAction: { none: {} },
          statement: {
            managedRuleGroupStatement: {
              vendorName: "AWS",
              name: "AWSManagedRulesCommonRuleSet",
              ruleActionOverrides: countOnly.map((rule) => ({ name: rule, actionToUse: { count: {} } })),
            },
          },
          visibilityConfig: visibility("common"),
        },
      ],
    });
    new CfnWebACLAssociation(this, "Association", { resourceArn: protects, webAclArn: acl.attrArn });
  }
}
