import { CfnIPSet, CfnWebACL } from "aws-cdk-lib/aws-wafv2";
import type { Construct } from "constructs";
import { type Declaration, methodsOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { isServed } from "../../api/document.ts";
import { envelopeOf, gatewayResponses } from "../../api/gateway-responses.ts";
import { requestHeaders } from "../../api/mock.ts";
import type { FirewallSettings, StageSettings } from "../../settings/schema.ts";
import { allOf, largeBodies, not, type Statement, signIns, unlimitedLists } from "./counted-requests.ts";

interface WebAclProps {
  /** Before API Gateway in a region, or before CloudFront, which takes web ACLs of us-east-1 only. */
  readonly scope: "REGIONAL" | "CLOUDFRONT";
  /** Its name, and the prefix of the names of its rules' metrics. */
  readonly name: string;
  readonly settings: StageSettings;
  readonly firewall: FirewallSettings;
}

/**
 * Against requests that only attackers send: one of AWS's managed rule groups (AWS WAF, "AWS Managed Rules rule groups
 * list") by its name in this web ACL and its metrics, and its rules that only count. Rules that look at bodies only count: signed-in editors send them, and a
 * description may quote what it likes.
 */
const knownBadInputs = {
  name: "known-bad-inputs",
  group: "AWSManagedRulesKnownBadInputsRuleSet",
  countOnly: ["JavaDeserializationRCE_BODY", "Log4JRCE_BODY", "ReactJSRCE_BODY"],
};

/**
 * Against common attacks. The rules that look at bodies only count: signed-in editors send them, and the functions
 * validate them. Descriptions of up to 20,000 characters may mention HTML, and the Base64 of an image may contain any
 * pattern.
 *
 * So does the rule against queries of more than 2,048 bytes: a provider's code may be longer, Microsoft Entra's of a
 * guest is, and `to` may. API Gateway takes 10,240 bytes of request line and headers.
 */
const common = {
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
export function makeWebAcl(construct: Construct, { scope, name, settings, firewall }: WebAclProps): string {
  const served = endpoints.filter((each) => isServed(each, settings));
  const managed = scope === "CLOUDFRONT" ? knownBadInputs : common;
  const untrusted = makeIpSets(construct, scope, firewall).map((arn) => not({ ipSetReferenceStatement: { arn } }));
  const visibility = (metricName: string) => ({
    cloudWatchMetricsEnabled: true,
    sampledRequestsEnabled: true,
    metricName,
  });
  const limit = (name: string, requestsIn5Minutes: number, ...counted: readonly Statement[]): Rule => ({
    name,
    action: { count: {} },
    ruleLabels: [{ name: limited }],
    statement: {
      rateBasedStatement: {
        aggregateKeyType: "IP",
        evaluationWindowSec: windowInSeconds,
        limit: requestsIn5Minutes,
        ...(counted.length > 0 ? { scopeDownStatement: allOf(counted) } : {}),
      },
    },
  });
  const { requestsPerAddressIn5Minutes, unlimitedListsPerAddressIn5Minutes, signInsPerAddressIn5Minutes } = firewall;
  const navigations = signIns(served);
  const rules: Rule[] = [
    limit("rate", requestsPerAddressIn5Minutes, ...untrusted),
    limit("unlimited-lists", unlimitedListsPerAddressIn5Minutes, ...untrusted, unlimitedLists(served)),
    ...(navigations ? [limit("sign-ins", signInsPerAddressIn5Minutes, ...untrusted, navigations)] : []),
    blocking("large-bodies", largeBodies(served), {
      responseCode: gatewayResponses.REQUEST_TOO_LARGE.status,
      customResponseBodyKey: large,
    }),
    ...refusals(settings.allowedOrigins, served),
    {
      name: managed.name,
      overrideAction: { none: {} },
      statement: {
        managedRuleGroupStatement: {
          vendorName: "AWS",
          name: managed.group,
          ruleActionOverrides: managed.countOnly.map((rule) => ({ name: rule, actionToUse: { count: {} } })),
        },
      },
    },
  ];
  const acl = new CfnWebACL(construct, "Acl", {
    name,
    scope,
    defaultAction: { allow: {} },
    dataProtectionConfig: { dataProtections: [withoutCookies] },
    customResponseBodies: {
      [limited]: { contentType: "APPLICATION_JSON", content: envelopeOf(gatewayResponses.THROTTLED) },
      [large]: { contentType: "APPLICATION_JSON", content: envelopeOf(gatewayResponses.REQUEST_TOO_LARGE) },
    },
    visibilityConfig: visibility(name),
    rules: rules.map((rule, priority) => ({
      ...rule,
      priority,
      visibilityConfig: visibility(`${name}-${rule.name}`),
    })),
  });
  return acl.attrArn;
}

type Rule = Omit<CfnWebACL.RuleProperty, "priority" | "visibilityConfig">;

const blocking = (name: string, statement: Statement, customResponse: CfnWebACL.CustomResponseProperty): Rule => ({
  name,
  statement,
  action: { block: { customResponse } },
});

/** The IP sets of the trusted addresses: one for IPv4 and one for IPv6, if there are any. */
function makeIpSets(construct: Construct, scope: WebAclProps["scope"], { trustedAddresses = [] }: FirewallSettings) {
  const isSix = (address: string) => address.includes(":");
  return (["IPV4", "IPV6"] as const).flatMap((version) => {
    const addresses = trustedAddresses.filter((each) => isSix(each) === (version === "IPV6"));
    if (addresses.length === 0) return [];
    return [new CfnIPSet(construct, version, { scope, ipAddressVersion: version, addresses }).attrArn];
  });
}

/**
 * The label of requests above a limit: a rate-based rule labels those alone (AWS WAF, "Rules that add labels"). Both are
 * keys of the responses' bodies, too.
 */
const limited = "too-many-requests";
const large = "request-too-long";

/**
 * How requests above a limit are refused. A response of AWS WAF is constant, and browsers show one to a page that sends
 * cookies only if it names the page's origin. So there are rules for each of these origins, and then one for all others.
 * The firewall also responds to preflights itself, as a browser would not send what they announce.
 *
 * They replace API Gateway's own `WAF_FILTERED` (API Gateway, "Gateway response types"). Each rule costs $1 a month.
 */
function refusals(allowedOrigins: readonly string[], endpoints: readonly Declaration[]): Rule[] {
  const methods = [...new Set(endpoints.flatMap(methodsOf))].join(",");
  const refuse = (cors: Headers): CfnWebACL.CustomResponseProperty => ({
    responseCode: gatewayResponses.THROTTLED.status,
    customResponseBodyKey: limited,
    responseHeaders: headersOf({
      // WAF checks the rate of the last five minutes repeatedly.
      "Retry-After": "60",
      "Cache-Control": "no-store",
      "Access-Control-Expose-Headers": "Retry-After",
      ...cors,
    }),
  });
  const ofOrigins = allowedOrigins.flatMap((origin, index) => {
    const matches = [hasLabel(limited), equals({ singleHeader: { Name: "origin" } }, origin)];
    const cors = { "Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true" };
    const preflight = { "Access-Control-Allow-Methods": methods, "Access-Control-Allow-Headers": requestHeaders };
    return [
      blocking(`preflight-${index}`, allOf([...matches, equals({ method: {} }, "OPTIONS")]), {
        responseCode: 204,
        responseHeaders: headersOf({ ...cors, ...preflight }),
      }),
      blocking(`${limited}-${index}`, allOf(matches), refuse(cors)),
    ];
  });
  return [...ofOrigins, blocking(limited, hasLabel(limited), refuse({ "Access-Control-Allow-Origin": "*" }))];
}

type Headers = Readonly<Record<string, string>>;

const headersOf = (headers: Headers) => Object.entries(headers).map(([name, value]) => ({ name, value }));

const hasLabel = (key: string): Statement => ({ labelMatchStatement: { scope: "LABEL", key } });

const equals = (fieldToMatch: CfnWebACL.FieldToMatchProperty, searchString: string): Statement => ({
  byteMatchStatement: {
    fieldToMatch,
    searchString,
    positionalConstraint: "EXACTLY",
    textTransformations: [{ priority: 0, type: "NONE" }],
  },
});
