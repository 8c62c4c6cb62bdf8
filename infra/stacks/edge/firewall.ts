import { CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import { type ManagedRules, makeWebAcl, type WebAclProps } from "./web-acl.ts";

export interface FirewallProps extends Pick<WebAclProps, "name" | "settings" | "allowedOrigins" | "endpoints"> {
  /** The stage of the REST API to protect. */
  readonly stageArn: string;
}

/**
 * Against common attacks. The rules that look at bodies only count: signed-in editors send them, and the functions
 * validate them. Descriptions of up to 20,000 characters may mention HTML, and the Base64 of an image may contain any
 * pattern.
 *
 * So does the rule against queries of more than 2,048 bytes: a provider's code may be longer, Microsoft Entra's of a
 * guest is, and `to` may. API Gateway takes 10,240 bytes of request line and headers.
 */
const common: ManagedRules = {
  name: "common",
  group: "AWSManagedRulesCommonRuleSet",
  countOnly: [
    "SizeRestrictions_BODY",
    "SizeRestrictions_QUERYSTRING",
    "CrossSiteScripting_BODY",
    "GenericLFI_BODY",
    "GenericRFI_BODY",
  ],
};

/** The firewall before API Gateway, on a stage without an edge. */
export class Firewall extends Construct {
  constructor(scope: Construct, id: string, { stageArn, ...props }: FirewallProps) {
    super(scope, id);
    const arn = makeWebAcl(this, { ...props, scope: "REGIONAL", managed: common });
    new CfnWebACLAssociation(this, "Association", { resourceArn: stageArn, webAclArn: arn });
  }
}
