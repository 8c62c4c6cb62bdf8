import { CfnIPSet, CfnWebACL, CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import type { Declaration } from "../../../lib/contract/declare.ts";
import { envelopeOf, gatewayResponses } from "../../api/gateway-responses.ts";
import type { FirewallSettings } from "../../settings/schema.ts";
import type { EdgeHeaders } from "./edge.ts";
import { type Statement, unlimitedLists } from "./unlimited-lists.ts";

export interface FirewallProps {
  readonly name: string;
  readonly settings: FirewallSettings;
  readonly endpoints: readonly Declaration[];
  /** The stage of the REST API to protect. */
  readonly stageArn: string;
  /** The headers that CloudFront adds, if the stage has an edge. */
  readonly edge: EdgeHeaders | undefined;
}

/**
 * Rules that only count. They look at bodies, which signed-in editors send and the functions validate: descriptions of
 * up to 20,000 characters may mention HTML, and the Base64 of an image may contain any pattern.
 */
const countOnly = ["SizeRestrictions_BODY", "CrossSiteScripting_BODY", "GenericLFI_BODY", "GenericRFI_BODY"];

const windowInSeconds = 300;

/**
 * AWS WAF: a limit of requests per address, a lower one for whole lists, and AWS's managed rules against common
 * attacks. The address is the sender's, but the one in the header if the request has CloudFront's secret.
 */
export class Firewall extends Construct {
  constructor(scope: Construct, id: string, { name, settings, endpoints, stageArn, edge }: FirewallProps) {
    super(scope, id);
    const visibility = (metric: string) => ({
      cloudWatchMetricsEnabled: true,
      sampledRequestsEnabled: true,
      metricName: `${name}-${metric}`,
    });
    const trusted = this.makeIpSets(settings.trustedAddresses ?? []);
    const visitors = edge ? [viaApiGateway(trusted, edge), viaCloudFront(trusted, edge)] : [viaApiGateway(trusted)];
    const limits = [
      { name: "rate", limit: settings.requestsPerAddressIn5Minutes, counted: [] },
      {
        name: "unlimited-lists",
        limit: settings.unlimitedListsPerAddressIn5Minutes,
        counted: [unlimitedLists(endpoints)],
      },
    ];
    const rates = limits.flatMap((each) =>
      visitors.map(({ suffix, aggregation, counted }) => ({
        name: `${each.name}${suffix}`,
        action: blockAction,
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
        [blockBody]: { contentType: "APPLICATION_JSON", content: envelopeOf(gatewayResponses.THROTTLED) },
      },
      visibilityConfig: visibility("all"),
      rules: [...rates, common].map((rule, priority) => ({ ...rule, priority })),
    });
    new CfnWebACLAssociation(this, "Association", { resourceArn: stageArn, webAclArn: acl.attrArn });
  }

  /** The IP sets of these addresses: one for IPv4 and one for IPv6, if there are any. */
  private makeIpSets(addresses: readonly string[]): string[] {
    const isSix = (address: string) => address.includes(":");
    return (["IPV4", "IPV6"] as const).flatMap((version) => {
      const ofVersion = addresses.filter((each) => isSix(each) === (version === "IPV6"));
      if (ofVersion.length === 0) return [];
      const set = new CfnIPSet(this, version, { scope: "REGIONAL", ipAddressVersion: version, addresses: ofVersion });
      return [set.attrArn];
    });
  }
}

const blockBody = "too-many-requests";

/** The firewall's own response, which replaces API Gateway's `WAF_FILTERED` (API Gateway, "Gateway response types"). */
const blockAction = {
  block: {
    customResponse: {
      responseCode: gatewayResponses.THROTTLED.status,
      customResponseBodyKey: blockBody,
      responseHeaders: [
        // WAF checks the rate of the last five minutes repeatedly.
        { name: "Retry-After", value: "60" },
        { name: "Cache-Control", value: "no-store" },
        { name: "Access-Control-Allow-Origin", value: "*" },
        { name: "Access-Control-Expose-Headers", value: "Retry-After" },
      ],
    },
  },
};

/** A group of visitors: those who use API Gateway directly, or those who use CloudFront. */
interface Visitors {
  /** The suffix of their rules' names. */
  readonly suffix: string;
  readonly aggregation: Pick<CfnWebACL.RateBasedStatementProperty, "aggregateKeyType" | "forwardedIpConfig">;
  /** The conditions for a request to be counted; trusted addresses are excluded. */
  readonly counted: readonly Statement[];
}

/** Visitors who use API Gateway directly. */
const viaApiGateway = (trusted: readonly string[], edge?: EdgeHeaders): Visitors => ({
  suffix: "",
  aggregation: { aggregateKeyType: "IP" },
  counted: [
    ...(edge ? [not(hasSecret(edge))] : []),
    ...trusted.map((arn) => not({ ipSetReferenceStatement: { arn } })),
  ],
});

/** Visitors who use CloudFront. */
function viaCloudFront(trusted: readonly string[], edge: EdgeHeaders): Visitors {
  // CloudFront always sends an address. With `MATCH` a request without one is blocked.
  const forwardedIp = { headerName: edge.addressHeader, fallbackBehavior: "MATCH" };
  const isIn = (arn: string): Statement => ({
    ipSetReferenceStatement: {
      arn,
      ipSetForwardedIpConfig: { ...forwardedIp, fallbackBehavior: "NO_MATCH", position: "FIRST" },
    },
  });
  return {
    suffix: "-through-edge",
    aggregation: { aggregateKeyType: "FORWARDED_IP", forwardedIpConfig: forwardedIp },
    counted: [hasSecret(edge), ...trusted.map((arn) => not(isIn(arn)))],
  };
}

const hasSecret = ({ secretHeader, secret }: EdgeHeaders): Statement => ({
  byteMatchStatement: {
    fieldToMatch: { singleHeader: { Name: secretHeader.toLowerCase() } },
    positionalConstraint: "EXACTLY",
    searchString: secret,
    textTransformations: [{ priority: 0, type: "NONE" }],
  },
});

const not = (statement: Statement): Statement => ({ notStatement: { statement } });

/** The scope of a rule: everything, one statement, or several joined by AND. */
function allOf(statements: readonly Statement[]): { scopeDownStatement?: Statement } {
  const [first, ...others] = statements;
  if (!first) return {};
  return { scopeDownStatement: others.length > 0 ? { andStatement: { statements: [...statements] } } : first };
}
