import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startApiGateway } from "../../../../infra/aws-local/api-gateway/server.ts";
import { echo, lambdaOf } from "../../../../infra/aws-local/test/rest-api.ts";
import { send } from "../../../../infra/aws-local/test/send.ts";
import { localDocument } from "../../../../infra/local/stage/document.ts";
import { listContributors } from "../../../../lib/contract/contributors.ts";
import { isNavigation } from "../../../../lib/contract/declare.ts";
import { endpoints } from "../../../../lib/contract/endpoints.ts";
import { inputParser } from "../../../../lib/http/input.ts";
import { changedSynthesis, type Properties, synthesis, type Template, templateText } from "../synthesis.ts";
import { countedBy, refusalOf } from "./waf.ts";

const changed = await changedSynthesis();

/** The firewall of a stage with an edge, before CloudFront, and of one without, before API Gateway. */
const edge = synthesis.template("colophon-prod-eu-central-1-firewall");
const direct = changed.template("colophon-dev");

/** The rules that count a visit before CloudFront and before API Gateway, whose paths begin with the stage. */
const counted = (path: string, query = "") => [
  countedBy(edge, { path, query }),
  countedBy(direct, { path: `/v1${path}`, query }),
];
const alike = (...rules: string[]) => [rules, rules];
const aclOf = (template: Template): Properties => template.one("WAFv2::WebACL").Properties;

describe("The firewall", () => {
  it("counts each visitor by the address of the connection, but no trusted addresses", () => {
    expect(counted("/contributor/slug/a")).toEqual(alike("rate"));
    for (const path of ["/contributors", "/sign-in"]) expect(countedBy(direct, { path, isTrusted: true })).toEqual([]);
    const trusted = direct.each("WAFv2::IPSet").map(({ Addresses }) => Addresses);
    expect(trusted).toEqual([["192.0.2.0/28"], ["2001:db8:1::/48"]]);
  });

  const lists = endpoints.filter(({ response, query }) => "list" in response && query && "limit" in query);

  const whole = lists.map(({ path }) => path.replace(/\{\w+\}/, "42"));
  it.each(whole)("counts %s without a limit as a whole list", (path) => {
    expect(counted(path)).toEqual(alike("rate", "unlimited-lists"));
    // The last one is 400 by the function.
    for (const query of ["limit=50", "client=1&limit=999&offset=2000", "limit=050", "limit=5&limit="])
      expect([query, counted(path, query)]).toEqual([query, alike("rate")]);
    const without = "limit= limit=1000 LIMIT=5 l%69mit=5 xlimit=5 offset=1;limit=5 search=%26limit=5";
    for (const query of without.split(" "))
      expect([query, counted(path, query)]).toEqual([query, alike("rate", "unlimited-lists")]);
  });

  it("sees no limit that the function does not see", async () => {
    const lambda = lambdaOf({ "contributors-list": echo });
    const buffered = { ...listContributors, results: { message: "" } };
    const gateway = await startApiGateway({ lambda, document: localDocument({ endpoints: [buffered] }) });
    const parse = inputParser(listContributors);
    /** What the function would read: no records if it returns 400, and all without a limit. */
    const recordsOf = async (query: string) => {
      const { status, json } = await send(gateway.url, `/contributors?${query}`);
      if (status !== 200) return 0;
      try {
        return parse(json).query.limit;
      } catch {
        return 0;
      }
    };
    const part = fc.oneof(
      ...["limit", "LIMIT", "l%69mit", "client=1", "search", "lang"].map((each) => fc.constant(each)),
      ...["=", "&", ";", "&limit=", "%26", "%3D", "%20", "+", "?", "5", "0", "99999"].map((each) => fc.constant(each)),
    );
    const queries = fc.array(part, { maxLength: 8 }).map((parts) => `client=1&${parts.join("")}`);
    const examples: [string][] = [
      ["client=1&limit=1&limit"],
      ["client=1&limit=1;limit="],
      ["client=1&limit=1&%6Cimit"],
    ];

    await fc.assert(
      fc.asyncProperty(queries, async (query) => {
        const isWhole = countedBy(edge, { path: "/contributors", query }).includes("unlimited-lists");
        expect(isWhole || (await recordsOf(query)) < 1_000).toBe(true);
      }),
      { numRuns: 300, examples },
    );
    await gateway.close();
  });

  it.each([
    { limit: "unlimited-lists", paths: "/%63ontributors //publishers /./contributors/ /x/../contributor/works/4%32" },
    // Who begins to sign in, and who comes back from a provider.
    { limit: "sign-ins", paths: "/sign-in /sign-in/callback /sign-%69n /x/../sign-in/callback //sign-in/" },
  ])(
    "has a limit of $limit, which counts a path however it is written, as CloudFront reads it: $paths",
    ({ limit, paths }) => {
      for (const path of paths.split(" "))
        expect([path, ...counted(path, "state=1&code=2")]).toEqual([path, ...alike("rate", limit)]);
    },
  );

  it("counts nothing else as a whole list, or as a sign-in", () => {
    const others = endpoints.filter((each) => !lists.includes(each) && !isNavigation(each));
    const paths = others.map(({ path }) => path.replace(/\{\w+\}/, "42"));
    for (const path of [...paths, "/contributor/works", "/contributorsx", "/sign-inx", "/sign-in/x", "/nowhere"])
      expect([path, counted(path)]).toEqual([path, alike("rate")]);
  });

  it("refuses bodies of 1.2 MB that are no images, with 413 in the envelope", () => {
    for (const template of [edge, direct]) {
      const refusedAt = (path: string, contentLength: number) => refusalOf(template, { path, contentLength }, false);
      const lengths = [0, 2, 1_199_999, 1_200_000, 1_999_999, 9_000_000, 10_485_760];

      expect(lengths.filter((each) => refusedAt("/admin-roles/add", each))).toEqual(lengths.slice(3));
      for (const path of ["/admin-users/update-image/7", "/v1/admin-contributors/update-avatar/7/"])
        expect([path, refusedAt(path, 9_000_000)]).toEqual([path, undefined]);
      const response = refusedAt("/", 9_000_000);
      expect(response?.ResponseCode).toBe(413);
      expect(bodyOf(template, response)).toBe('{"data":"Request too long","code":413}');
    }
  });

  const bodyOf = (template: Template, response: Properties | undefined) =>
    aclOf(template).CustomResponseBodies[response?.CustomResponseBodyKey].Content;
  const headersOf = (response: Properties | undefined): Properties =>
    Object.fromEntries(response?.ResponseHeaders.map(({ Name, Value }: Properties) => [Name, Value]));

  it.each([
    { where: "with an edge", template: edge, limits: [10_000, 30, 100] },
    { where: "without an edge", template: direct, limits: [3_000, 30, 50] },
  ] as const)(
    "returns 429 with Retry-After, in the envelope, to an address above the limits $where",
    ({ template, limits }) => {
      const statements = (aclOf(template).Rules as Properties[]).map(({ Statement }) => Statement.RateBasedStatement);
      const visit = { path: "/contributors", origin: "https://fans.example.net" };
      const response = refusalOf(template, visit, true);

      expect(statements.flatMap((each) => each?.Limit ?? [])).toEqual(limits);
      expect(refusalOf(template, visit, false)).toBeUndefined();
      expect(response?.ResponseCode).toBe(429);
      expect(bodyOf(template, response)).toBe('{"data":"Too many requests","code":429}');
      expect(headersOf(response)).toEqual({
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Expose-Headers": "Retry-After",
        "Cache-Control": "no-store",
        "Retry-After": "60",
      });
    },
  );

  it("responds so that browsers show it to the panel, whose requests have cookies, and to its preflights", () => {
    const panel = "https://admin.example.com";
    const visit = { path: "/admin-roles/edit/7", origin: panel };
    const readable = { "Access-Control-Allow-Origin": panel, "Access-Control-Allow-Credentials": "true" };
    const limited = refusalOf(edge, visit, true);
    const preflight = refusalOf(edge, { ...visit, method: "OPTIONS" }, true);
    const stranger = refusalOf(edge, { ...visit, method: "OPTIONS", origin: "https://evil.example" }, true);

    expect([limited, preflight, stranger].map((each) => each?.ResponseCode)).toEqual([429, 204, 429]);
    expect(bodyOf(edge, limited)).toBe('{"data":"Too many requests","code":429}');
    expect(headersOf(limited)).toMatchObject({ ...readable, "Retry-After": "60" });
    expect(headersOf(preflight)).toEqual({
      ...readable,
      "Access-Control-Allow-Headers": "Content-Type, If-Match, Idempotency-Key, Prefer",
      "Access-Control-Allow-Methods": expect.stringMatching(/^(?=.*GET)(?=.*POST)(?=.*DELETE)(?=.*HEAD)[A-Z,]+$/),
    });
    expect(refusalOf(edge, { ...visit, method: "OPTIONS" }, false)).toBeUndefined();
    // "maximum number of custom headers" of a response
    for (const each of [limited, preflight]) expect(each?.ResponseHeaders.length).toBeLessThanOrEqual(10);
  });

  it("blocks by AWS's own rules, but not by what editors write, or how much a provider of OpenID Connect does", () => {
    const managed = [edge, direct].map((template) => {
      const [{ OverrideAction, Statement }] = (aclOf(template).Rules as Properties[]).slice(-1) as [Properties];
      const { Name, RuleActionOverrides } = Statement.ManagedRuleGroupStatement;
      const counting = (RuleActionOverrides as Properties[]).filter(({ ActionToUse }) => "Count" in ActionToUse);
      expect([OverrideAction, counting]).toEqual([{ None: {} }, RuleActionOverrides]);
      return [Name, ...counting.flatMap(({ Name }) => (Name.endsWith("_BODY") ? [] : Name))];
    });

    expect(managed).toEqual([
      ["AWSManagedRulesKnownBadInputsRuleSet"],
      ["AWSManagedRulesCommonRuleSet", "SizeRestrictions_QUERYSTRING"],
    ]);
  });

  it("shows nobody the cookies of requests, and fits what AWS WAF takes", () => {
    for (const template of [edge, direct]) {
      expect(aclOf(template).DataProtectionConfig).toEqual({
        DataProtections: [{ Field: { FieldType: "SINGLE_HEADER", FieldKeys: ["cookie"] }, Action: "SUBSTITUTION" }],
      });
      const regexes = template.text.match(/(?<="RegexString": ?").*?(?=")/g) ?? [];
      expect(regexes.map(({ length }) => length <= 512)).toEqual(Array(5).fill(true));
    }
  });
});

describe("The firewall before CloudFront", () => {
  const aclsOf = (template: Template) =>
    template.each("CloudFront::Distribution").map(({ DistributionConfig }) => DistributionConfig.WebACLId);
  /** An output of the firewall's stack, unless the parameter of the same name is given. */
  const referenceTo = (stack: string, name: "EdgeWebAcl" | "ImagesWebAcl") => {
    const output = { StackName: `${stack}-firewall`, OutputName: name, Region: "us-east-1" };
    return { "Fn::If": [`${name}IsGiven`, { Ref: name }, { "Fn::GetStackOutput": output }] };
  };

  it("stands before each distribution of its stage", () => {
    const acl = edge.one("WAFv2::WebACL");

    expect(acl.Properties.Scope).toBe("CLOUDFRONT");
    expect(edge.find(edge.Outputs.EdgeWebAcl.Value)).toBe(acl);
    const prod = synthesis.template("colophon-prod");
    expect(aclsOf(prod)).toEqual(Array(2).fill(referenceTo("colophon-prod-eu-central-1", "EdgeWebAcl")));
    expect(prod.all("WAFv2::WebACL")).toEqual([]);
  });

  it("can be named by a parameter while us-east-1 does not respond, which an output shows", () => {
    const { Parameters, Conditions, Outputs } = synthesis.template("colophon-prod");

    expect(Parameters.EdgeWebAcl.Default).toBe("");
    expect(Conditions.EdgeWebAclIsGiven).toEqual({ "Fn::Not": [{ "Fn::Equals": [{ Ref: "EdgeWebAcl" }, ""] }] });
    expect(Outputs.EdgeWebAclArn.Value).toEqual(referenceTo("colophon-prod-eu-central-1", "EdgeWebAcl"));
  });

  it("logs what it blocks, and nothing else", () => {
    const { ResourceArn, LogDestinationConfigs, LoggingFilter } = edge.one("WAFv2::LoggingConfiguration").Properties;
    const log = edge.one("Logs::LogGroup");

    expect(edge.find(ResourceArn)).toBe(edge.one("WAFv2::WebACL"));
    expect((LogDestinationConfigs as unknown[]).map(templateText)).toEqual([
      `arn:\${AWS::Partition}:logs:us-east-1:123456789012:log-group:\${${log.id}}`,
    ]);
    expect(log.Properties).toEqual({ LogGroupName: "aws-waf-logs-colophon-prod-eu-central-1", RetentionInDays: 90 });
    expect(LoggingFilter).toEqual({
      DefaultBehavior: "DROP",
      Filters: [{ Behavior: "KEEP", Requirement: "MEETS_ANY", Conditions: [{ ActionCondition: { Action: "BLOCK" } }] }],
    });
  });

  it("is one for each distribution with a flat-rate plan", () => {
    const flat = changed.template("colophon-prod-eu-west-1-firewall");
    const names = flat.each("WAFv2::WebACL").map(({ Name }) => Name);

    expect(names).toEqual(["edge", "images"].map((each) => `colophon-prod-eu-west-1-${each}`));
    const references = (["EdgeWebAcl", "ImagesWebAcl"] as const).map((each) =>
      referenceTo("colophon-prod-eu-west-1", each),
    );
    expect(aclsOf(changed.template("colophon-prod"))).toEqual(expect.arrayContaining(references));
    expect(flat.all("WAFv2::LoggingConfiguration")).toHaveLength(2);
    expect(flat.each("WAFv2::IPSet").map(({ Scope }) => Scope)).toEqual(Array(4).fill("CLOUDFRONT"));
  });

  it("stands before images alone on a stage without an edge, whose API has one of its own", () => {
    expect(aclsOf(direct)).toEqual([referenceTo("colophon-dev-eu-west-1", "ImagesWebAcl")]);
    expect(aclOf(direct).Scope).toBe("REGIONAL");
    const { WebACLArn } = direct.one("WAFv2::WebACLAssociation").Properties;
    expect(direct.find(WebACLArn)).toBe(direct.one("WAFv2::WebACL"));
    expect(synthesis.template("colophon-dev").text).not.toContain("WAFv2");
  });
});
