import { CfnIPSet, CfnWebACL } from "aws-cdk-lib/aws-wafv2";
import type { Construct } from "constructs";
import type { Declaration } from "../../../lib/contract/declare.ts";
import { envelopeOf, gatewayResponses } from "../../api/gateway-responses.ts";
import type { FirewallSettings } from "../../settings/schema.ts";
import { largeBodies, type Statement, signIns, unlimitedLists } from "./counted-requests.ts";

/** One of AWS's managed rule groups (AWS WAF, "AWS Managed Rules rule groups list"). */
export interface ManagedRules {
  /** Their name in this web ACL and its metrics. */
  readonly name: string;
  readonly group: string;
  /** Rules that only count. */
  readonly countOnly: readonly string[];
}

export interface WebAclProps {
  /** Before API Gateway in a region, or before CloudFront, which takes web ACLs of us-east-1 only. */
  readonly scope: "REGIONAL" | "CLOUDFRONT";
  /** Its name, and the prefix of the names of its rules' metrics. */
  readonly name: string;
  readonly settings: FirewallSettings;
  /** Those that the stage has. */
  readonly endpoints: readonly Declaration[];
  readonly managed: ManagedRules;
}

const windowInSeconds = 300;

/** The cookie is the user's session. A logging configuration could hide it in logs, but not in WAF's samples. */
const withoutCookies: CfnWebACL.DataProtectProperty = {
  action: "SUBSTITUTION",
  field: { fieldType: "SINGLE_HEADER", fieldKeys: ["cookie"] },
};

/**
 * AWS WAF in a construct: a limit of requests per address, lower ones for whole lists and for sign-ins, and a group of
 * AWS's managed rules. Returns the ARN of the web ACL.
 */
export function makeWebAcl(scope: Construct, props: WebAclProps): string {
  const { name, settings, endpoints, managed } = props;
  const visibility = (metricName: string) => ({
    cloudWatchMetricsEnabled: true,
    sampledRequestsEnabled: true,
    metricName,
  });
  const untrusted = makeIpSets(scope, props).map(
    (arn): Statement => ({ notStatement: { statement: { ipSetReferenceStatement: { arn } } } }),
  );
  const signIn = signIns(endpoints);
  const limits = [
    { name: "rate", limit: settings.requestsPerAddressIn5Minutes, counted: untrusted },
    {
      name: "unlimited-lists",
      limit: settings.unlimitedListsPerAddressIn5Minutes,
      counted: [...untrusted, unlimitedLists(endpoints)],
    },
    ...(signIn
      ? [{ name: "sign-ins", limit: settings.signInsPerAddressIn5Minutes, counted: [...untrusted, signIn] }]
      : []),
  ];
  const rates = limits.map((each) => ({
    name: each.name,
    action: blockAction,
    statement: {
      rateBasedStatement: {
        aggregateKeyType: "IP",
        evaluationWindowSec: windowInSeconds,
        limit: each.limit,
        ...allOf(each.counted),
      },
    },
    visibilityConfig: visibility(`${name}-${each.name}`),
  }));
  const large = {
    name: "large-bodies",
    action: {
      block: {
        customResponse: { responseCode: gatewayResponses.REQUEST_TOO_LARGE.status, customResponseBodyKey: largeBody },
      },
    },
    statement: largeBodies(endpoints),
    visibilityConfig: visibility(`${name}-large-bodies`),
  };
  const managedRules = {
    name: managed.name,
    overrideAction: { none: {} },
    statement: {
      managedRuleGroupStatement: {
        vendorName: "AWS",
        name: managed.group,
        ruleActionOverrides: managed.countOnly.map((rule) => ({ name: rule, actionToUse: { count: {} } })),
      },
    },
    visibilityConfig: visibility(`${name}-${managed.name}`),
  };
  const acl = new CfnWebACL(scope, "Acl", {
    name,
    scope: props.scope,
    defaultAction: { allow: {} },
    dataProtectionConfig: { dataProtections: [withoutCookies] },
    customResponseBodies: {
      [blockBody]: { contentType: "APPLICATION_JSON", content: envelopeOf(gatewayResponses.THROTTLED) },
      [largeBody]: { contentType: "APPLICATION_JSON", content: envelopeOf(gatewayResponses.REQUEST_TOO_LARGE) },
    },
    visibilityConfig: visibility(name),
    rules: [...rates, large, managedRules].map((rule, priority) => ({ ...rule, priority })),
  });
  return acl.attrArn;
}

/** The IP sets of the trusted addresses: one for IPv4 and one for IPv6, if there are any. */
function makeIpSets(construct: Construct, { scope, settings: { trustedAddresses = [] } }: WebAclProps): string[] {
  const isSix = (address: string) => address.includes(":");
  return (["IPV4", "IPV6"] as const).flatMap((version) => {
    const addresses = trustedAddresses.filter((each) => isSix(each) === (version === "IPV6"));
    if (addresses.length === 0) return [];
    return [new CfnIPSet(construct, version, { scope, ipAddressVersion: version, addresses }).attrArn];
  });
}

const blockBody = "too-many-requests";
const largeBody = "request-too-long";

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

/** The scope of a rule: everything, one statement, or several joined by AND. */
function allOf(statements: readonly Statement[]): { scopeDownStatement?: Statement } {
  const [first, ...others] = statements;
  if (!first) return {};
  return { scopeDownStatement: others.length > 0 ? { andStatement: { statements: [...statements] } } : first };
}
