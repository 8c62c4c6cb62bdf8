import { CfnIPSet, CfnWebACL, CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import type { Declaration } from "../../../lib/contract/declare.ts";
import { envelopeOf, gatewayResponses } from "../../gateway-responses.ts";
import type { FirewallSettings } from "../../stages.ts";
import type { EdgeMark } from "./edge.ts";
import { type Statement, wholeLists } from "./whole-lists.ts";

export interface FirewallProps {
  readonly name: string;
  readonly settings: FirewallSettings;
  readonly endpoints: readonly Declaration[];
  /** The ARN of the API's stage. */
  readonly protects: string;
  /** What requests through CloudFront carry, where there is one. */
  readonly edge: EdgeMark | undefined;
}

/**
 * Rules that only count. Bodies are JSON of signed-in editors, whose size and content the functions check: descriptions
 * of 20,000 characters that may well speak of HTML, and images of megabytes, in whose Base64 any pattern turns up.
 */
const countOnly = ["SizeRestrictions_BODY", "CrossSiteScripting_BODY", "GenericLFI_BODY", "GenericRFI_BODY"];

const windowInSeconds = 300;

/**
 * AWS WAF: so many requests an address, fewer of them for whole lists, and the rules that AWS keeps against common
 * attacks. A visitor's address is the sender's, or, of what CloudFront sent, the one that it names; a header by which
 * somebody else names an address is not looked at.
 */
export class Firewall extends Construct {
  constructor(scope: Construct, id: string, { name, settings, endpoints, protects, edge }: FirewallProps) {
    super(scope, id);
    const visibility = (metric: string) => ({
      cloudWatchMetricsEnabled: true,
      sampledRequestsEnabled: true,
      metricName: `${name}-${metric}`,
    });
    const trusted = this.keepAddresses(settings.trustedAddresses ?? []);
    const visitors = edge ? [direct(trusted, edge), through(trusted, edge)] : [direct(trusted)];
    const limits = [
      { name: "rate", limit: settings.requestsPerAddressIn5Minutes, counted: [] },
      { name: "whole-lists", limit: settings.wholeListsPerAddressIn5Minutes, counted: [wholeLists(endpoints)] },
    ];
    const rates = limits.flatMap((each) =>
      visitors.map(({ suffix, aggregation, counted }) => ({
        name: `${each.name}${suffix}`,
        action: tooMany,
        statement: {
          rateBasedStatement: {
            ...aggregation,
            evaluationWindowSec: windowInSeconds,
            limit: each.limit,
            ...allOf([...counted, ...each.counted]),
          },
        },
        visibilityConfig: visibility(`${each.name}${suffix}`),
      })),
    );
    const common = {
      name: "common",
      overrideAction: { none: {} },
      statement: {
        managedRuleGroupStatement: {
          vendorName: "AWS",
          name: "AWSManagedRulesCommonRuleSet",
          ruleActionOverrides: countOnly.map((rule) => ({ name: rule, actionToUse: { count: {} } })),
        },
      },
      visibilityConfig: visibility("common"),
    };
    const acl = new CfnWebACL(this, "Acl", {
      scope: "REGIONAL",
      defaultAction: { allow: {} },
      customResponseBodies: {
        [tooManyBody]: { contentType: "APPLICATION_JSON", content: envelopeOf(gatewayResponses.THROTTLED) },
      },
      visibilityConfig: visibility("all"),
      rules: [...rates, common].map((rule, priority) => ({ ...rule, priority })),
    });
    new CfnWebACLAssociation(this, "Association", { resourceArn: protects, webAclArn: acl.attrArn });
  }

  /** The sets of these addresses; one holds either IPv4 or IPv6. */
  private keepAddresses(addresses: readonly string[]): string[] {
    const isSix = (address: string) => address.includes(":");
    return (["IPV4", "IPV6"] as const).flatMap((version) => {
      const ofVersion = addresses.filter((each) => isSix(each) === (version === "IPV6"));
      if (ofVersion.length === 0) return [];
      const set = new CfnIPSet(this, version, { scope: "REGIONAL", ipAddressVersion: version, addresses: ofVersion });
      return [set.attrArn];
    });
  }
}

const tooManyBody = "too-many-requests";

/** A response of the firewall takes the place of API Gateway's own (API Gateway, "Gateway response types"). */
const tooMany = {
  block: {
    customResponse: {
      responseCode: gatewayResponses.THROTTLED.status,
      customResponseBodyKey: tooManyBody,
      responseHeaders: [
        // The rate is that of the last five minutes, and looked at again and again.
        { name: "Retry-After", value: "60" },
        { name: "Cache-Control", value: "no-store" },
        { name: "Access-Control-Allow-Origin", value: "*" },
        { name: "Access-Control-Expose-Headers", value: "Retry-After" },
      ],
    },
  },
};

/** Visitors whose addresses are counted in one way. */
interface Visitors {
  /** Of the names of their rules. */
  readonly suffix: string;
  readonly aggregation: Pick<CfnWebACL.RateBasedStatementProperty, "aggregateKeyType" | "forwardedIpConfig">;
  /** Which requests are theirs, those of trusted addresses left out. */
  readonly counted: readonly Statement[];
}

/** Those who come to API Gateway themselves. */
const direct = (trusted: readonly string[], edge?: EdgeMark): Visitors => ({
  suffix: "",
  aggregation: { aggregateKeyType: "IP" },
  counted: [...(edge ? [not(carries(edge))] : []), ...trusted.map((arn) => not({ ipSetReferenceStatement: { arn } }))],
});

/** Those who come through CloudFront. */
function through(trusted: readonly string[], edge: EdgeMark): Visitors {
  // CloudFront names an address each time; what had none would be stopped rather than let in uncounted.
  const named = { headerName: edge.addressHeader, fallbackBehavior: "MATCH" };
  const isIn = (arn: string): Statement => ({
    ipSetReferenceStatement: {
      arn,
      ipSetForwardedIpConfig: { ...named, fallbackBehavior: "NO_MATCH", position: "FIRST" },
    },
  });
  return {
    suffix: "-through-edge",
    aggregation: { aggregateKeyType: "FORWARDED_IP", forwardedIpConfig: named },
    counted: [carries(edge), ...trusted.map((arn) => not(isIn(arn)))],
  };
}

const carries = ({ secretHeader, secret }: EdgeMark): Statement => ({
  byteMatchStatement: {
    fieldToMatch: { singleHeader: { Name: secretHeader.toLowerCase() } },
    positionalConstraint: "EXACTLY",
    searchString: secret,
    textTransformations: [{ priority: 0, type: "NONE" }],
  },
});

const not = (statement: Statement): Statement => ({ notStatement: { statement } });

/** What a rule looks at: everything, one statement, or the conjunction of several, which WAF writes differently. */
function allOf(statements: readonly Statement[]): { scopeDownStatement?: Statement } {
  const [first, ...others] = statements;
  if (!first) return {};
  return { scopeDownStatement: others.length > 0 ? { andStatement: { statements: [...statements] } } : first };
}
