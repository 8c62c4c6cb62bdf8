import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApiGateway } from "../../../../infra/aws-local/api-gateway/server.ts";
import { echo, lambdaOf } from "../../../../infra/aws-local/test/rest-api.ts";
import { send } from "../../../../infra/aws-local/test/send.ts";
import { localDocument } from "../../../../infra/local/stage/document.ts";
import type { StageSettings } from "../../../../infra/settings/schema.ts";
import { settings } from "../../../../infra/stages.ts";
import { listContributors } from "../../../../lib/contract/contributors.ts";
import { isNavigation } from "../../../../lib/contract/declare.ts";
import { endpoints } from "../../../../lib/contract/endpoints.ts";
import { inputParser } from "../../../../lib/http/input.ts";
import {
  type Properties,
  type Synthesis,
  synthesize,
  type Template,
  templateText,
  useSynthesis,
} from "../synthesis.ts";
import { countedBy, matchesRule, refusalOf } from "./waf.ts";

const synthesis = useSynthesis();
const firewall = {
  requestsPerAddressIn5Minutes: 3_000,
  unlimitedListsPerAddressIn5Minutes: 30,
  signInsPerAddressIn5Minutes: 50,
  trustedAddresses: ["192.0.2.0/28", "2001:db8:1::/48"],
  blockedRequestsIn5Minutes: 100,
};

let changed: Synthesis;
/** The firewall of a stage with an edge, before CloudFront, and of one without, before API Gateway. */
let edge: Template;
let direct: Template;

beforeAll(async () => {
  const { signIn } = settings.stages.find(({ name }) => name === "prod") ?? {};
  const stages = settings.stages.map((each): StageSettings => ({ ...each, firewall, signIn }));
  changed = await synthesize(synthesis.functions, { ...settings, stages });
  edge = changed.template("colophon-prod-eu-central-1-firewall");
  direct = changed.template("colophon-dev");
});

afterAll(() => changed?.remove());

const visitor = "198.51.100.7";

describe("The firewall", () => {
  it("counts each visitor by the address of the connection", () => {
    for (const template of [edge, direct])
      expect(countedBy(template, { address: visitor, path: "/contributor/slug/a" })).toEqual(["rate"]);
  });

  it("does not count trusted addresses", () => {
    for (const template of [edge, direct]) {
      for (const address of ["192.0.2.1", "192.0.2.15", "2001:db8:1:2::3"])
        expect(countedBy(template, { address, path: "/contributors" })).toEqual([]);
      for (const address of ["192.0.2.16", "2001:db8:2::1"])
        expect(countedBy(template, { address, path: "/publishers" })).toEqual(["rate", "unlimited-lists"]);
    }
  });

  const lists = endpoints.filter(({ response, query }) => "list" in response && query && "limit" in query);

  it.each(lists.map(({ path }) => path.replace(/\{\w+\}/, "42")))(
    "counts %s without a limit as a whole list",
    (path) => {
      const rules = (query?: string) => [
        countedBy(edge, { address: visitor, path, ...(query ? { query } : {}) }),
        countedBy(direct, { address: visitor, path: `/v1${path}`, ...(query ? { query } : {}) }),
      ];
      const whole = [
        ["rate", "unlimited-lists"],
        ["rate", "unlimited-lists"],
      ];
      const page = [["rate"], ["rate"]];

      expect(rules()).toEqual(whole);
      for (const query of [
        "limit=50",
        "client=1&limit=999&offset=2000",
        "limit=050",
        "search=limit&limit=1",
        // 400 by the function
        "limit=5&limit=",
        "limit=5&limit",
        "limit=5&l%69mit=99999",
      ])
        expect([query, rules(query)]).toEqual([query, page]);
      for (const query of [
        "limit=",
        "limit=1000",
        "limit=99999999",
        "LIMIT=5",
        "offset=1&search=limit",
        "search=%26limit=5",
        "offset=1;limit=5",
        "limit=5;limit=99999",
        "l%69mit=5",
        "xlimit=5",
        "limit",
      ])
        expect([query, rules(query)]).toEqual([query, whole]);
    },
  );

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

    await fc.assert(
      fc.asyncProperty(queries, async (query) => {
        const isWhole = countedBy(edge, { address: visitor, path: "/contributors", query }).includes("unlimited-lists");
        expect(isWhole || (await recordsOf(query)) < 1_000).toBe(true);
      }),
      {
        numRuns: 300,
        examples: [["client=1&limit=1&limit"], ["client=1&limit=1;limit="], ["client=1&limit=1&%6Cimit"]],
      },
    );
    await gateway.close();
  });

  it("counts who begins to sign in, and who comes back from a provider, by a limit of their own", () => {
    for (const path of ["/sign-in", "/sign-in/callback", "/sign-%69n", "/x/../sign-in/callback", "//sign-in/"])
      expect([path, countedBy(edge, { address: visitor, path, query: "state=1&code=2" })]).toEqual([
        path,
        ["rate", "sign-ins"],
      ]);
    for (const path of ["/v1/sign-in", "/v1/sign-in/callback"])
      expect([path, countedBy(direct, { address: visitor, path })]).toEqual([path, ["rate", "sign-ins"]]);
    expect(countedBy(edge, { address: "192.0.2.1", path: "/sign-in" })).toEqual([]);
  });

  it("counts nothing else as a whole list, or as a sign-in", () => {
    const others = endpoints.filter((each) => !lists.includes(each) && !isNavigation(each));
    const paths = others.map(({ path }) => path.replace(/\{\w+\}/, "42"));
    for (const path of [...paths, "/contributor/works", "/contributorsx", "/sign-inx", "/sign-in/x", "/nowhere"])
      expect([path, countedBy(edge, { address: visitor, path })]).toEqual([path, ["rate"]]);
  });

  it("sees a list however its path is written, as CloudFront does", () => {
    for (const path of ["/%63ontributors", "//publishers", "/./contributors/", "/x/../contributor/works/4%32"])
      expect([path, countedBy(edge, { address: visitor, path })]).toEqual([path, ["rate", "unlimited-lists"]]);
  });

  it("refuses bodies of 1.2 MB that are no images, with 413 in the envelope", () => {
    const isRefused = (template: Template, path: string, contentLength?: number) =>
      matchesRule(template, "large-bodies", { address: visitor, path, ...(contentLength && { contentLength }) });

    for (const template of [edge, direct]) {
      for (const length of [1_200_000, 1_999_999, 9_000_000, 10_485_760])
        expect([length, isRefused(template, "/admin-roles/add", length)]).toEqual([length, true]);
      for (const length of [undefined, 2, 1_048_576, 1_199_999])
        expect([length, isRefused(template, "/admin-roles/add", length)]).toEqual([length, false]);
      for (const path of ["/admin-users/update-image/7", "/v1/admin-contributors/update-avatar/7/"])
        expect([path, isRefused(template, path, 9_000_000)]).toEqual([path, template === direct]);
      expect(
        bodyOf(template, refusalOf(template, { address: visitor, path: "/", contentLength: 9_000_000 }, false)),
      ).toBe('{"data":"Request too long","code":413}');
    }
  });

  const bodyOf = (template: Template, response: Properties | undefined) =>
    template.one("WAFv2::WebACL").Properties.CustomResponseBodies[response?.CustomResponseBodyKey].Content;
  const headersOf = (response: Properties | undefined): Properties =>
    Object.fromEntries(response?.ResponseHeaders.map(({ Name, Value }: Properties) => [Name, Value]));
  const panel = "https://admin.example.com";

  it("answers an address above its limits 429 with Retry-After, in the envelope", () => {
    for (const template of [edge, direct]) {
      const rates = template
        .one("WAFv2::WebACL")
        .Properties.Rules.filter(({ Statement }: Properties) => Statement.RateBasedStatement);
      expect(rates.map(({ Name, Statement }: Properties) => [Name, Statement.RateBasedStatement.Limit])).toEqual([
        ["rate", 3_000],
        ["unlimited-lists", 30],
        ["sign-ins", 50],
      ]);
      const visit = { address: visitor, path: "/contributors", origin: "https://fans.example.net" };
      const response = refusalOf(template, visit, true);

      expect(refusalOf(template, visit, false)).toBeUndefined();
      expect([response?.ResponseCode, bodyOf(template, response)]).toEqual([
        429,
        '{"data":"Too many requests","code":429}',
      ]);
      expect(headersOf(response)).toEqual({
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Expose-Headers": "Retry-After",
        "Cache-Control": "no-store",
        "Retry-After": "60",
      });
    }
  });

  it("answers so that browsers show it to the panel, whose requests have cookies, and answers their preflights", () => {
    const visit = { address: visitor, path: "/admin-roles/edit/7", origin: panel };
    const readable = { "Access-Control-Allow-Origin": panel, "Access-Control-Allow-Credentials": "true" };
    const limited = refusalOf(edge, visit, true);
    const preflight = refusalOf(edge, { ...visit, method: "OPTIONS" }, true);

    expect([limited?.ResponseCode, preflight?.ResponseCode]).toEqual([429, 204]);
    expect(bodyOf(edge, limited)).toBe('{"data":"Too many requests","code":429}');
    expect(headersOf(limited)).toMatchObject({ ...readable, "Retry-After": "60" });
    expect(headersOf(preflight)).toEqual({
      ...readable,
      "Access-Control-Allow-Headers": "Content-Type, If-Match, Idempotency-Key",
      "Access-Control-Allow-Methods": "GET,POST,DELETE,HEAD",
    });
    expect(refusalOf(edge, { ...visit, method: "OPTIONS" }, false)).toBeUndefined();
    expect(refusalOf(edge, { ...visit, method: "OPTIONS", origin: "https://evil.example" }, true)?.ResponseCode).toBe(
      429,
    );
    // "maximum number of custom headers" of a response
    for (const each of [limited, preflight]) expect(each?.ResponseHeaders.length).toBeLessThanOrEqual(10);
  });

  it("blocks by AWS's own rules, but not by what editors write, or how much a provider of OpenID Connect does", () => {
    const groupsOf = (template: Template) =>
      (template.one("WAFv2::WebACL").Properties.Rules as Properties[]).flatMap(({ OverrideAction, Statement }) => {
        const { VendorName, Name, RuleActionOverrides } = Statement.ManagedRuleGroupStatement ?? {};
        if (!Name) return [];
        const overrides: Properties[] = RuleActionOverrides;
        expect([VendorName, OverrideAction]).toEqual(["AWS", { None: {} }]);
        for (const { ActionToUse } of overrides) expect(ActionToUse).toEqual({ Count: {} });
        return [[Name, overrides.map((each) => each.Name).filter((rule) => !/_BODY$/.test(rule))]];
      });

    expect(groupsOf(edge)).toEqual([["AWSManagedRulesKnownBadInputsRuleSet", []]]);
    expect(groupsOf(direct)).toEqual([["AWSManagedRulesCommonRuleSet", ["SizeRestrictions_QUERYSTRING"]]]);
  });

  it("shows nobody the cookies of requests, in logs or samples", () => {
    for (const template of [edge, direct])
      expect(template.one("WAFv2::WebACL").Properties.DataProtectionConfig).toEqual({
        DataProtections: [{ Field: { FieldType: "SINGLE_HEADER", FieldKeys: ["cookie"] }, Action: "SUBSTITUTION" }],
      });
  });

  it("fits what AWS WAF takes", () => {
    const regexes = edge.text.match(/(?<="RegexString": ?").*?(?=")/g) ?? [];

    expect(regexes).toHaveLength(5);
    for (const each of regexes) expect(each.length).toBeLessThanOrEqual(512);
  });
});

describe("The firewall before CloudFront", () => {
  const aclsOf = (template: Template) =>
    template
      .all("CloudFront::Distribution")
      .map(({ Properties: { DistributionConfig } }) => [DistributionConfig.Aliases[0], DistributionConfig.WebACLId]);
  /** A secret that us-east-1 has copied to the stage's region. */
  const publishedAs = (before: string) =>
    `{{resolve:secretsmanager:/colophon/colophon-prod-eu-central-1-${before}-web-acl:SecretString:::}}`;

  it("stands before each distribution of its stage", () => {
    const acl = edge.one("WAFv2::WebACL");

    expect(acl.Properties.Scope).toBe("CLOUDFRONT");
    expect(edge.one("SecretsManager::Secret").Properties).toMatchObject({
      Name: "/colophon/colophon-prod-eu-central-1-edge-web-acl",
      SecretString: { "Fn::GetAtt": [acl.id, "Arn"] },
      ReplicaRegions: [{ Region: "eu-central-1" }],
    });
    expect(Object.fromEntries(aclsOf(changed.template("colophon-prod")))).toEqual({
      "api.example.com": publishedAs("edge"),
      "images.example.com": publishedAs("edge"),
    });
    for (const { Properties } of edge.all("WAFv2::IPSet")) expect(Properties.Scope).toBe("CLOUDFRONT");
    expect(changed.template("colophon-prod").all("WAFv2::WebACL")).toEqual([]);
  });

  it("logs what it blocks, and nothing else", () => {
    const { ResourceArn, LogDestinationConfigs, LoggingFilter } = edge.one("WAFv2::LoggingConfiguration").Properties;
    const log = edge.one("Logs::LogGroup");

    expect(edge.find(ResourceArn).Type).toBe("AWS::WAFv2::WebACL");
    expect((LogDestinationConfigs as unknown[]).map(templateText)).toEqual([
      `arn:\${AWS::Partition}:logs:us-east-1:123456789012:log-group:\${${log.id}}`,
    ]);
    expect(log.Properties).toEqual({ LogGroupName: "aws-waf-logs-colophon-prod-eu-central-1", RetentionInDays: 90 });
    expect(LoggingFilter).toEqual({
      DefaultBehavior: "DROP",
      Filters: [{ Behavior: "KEEP", Requirement: "MEETS_ANY", Conditions: [{ ActionCondition: { Action: "BLOCK" } }] }],
    });
  });

  const cases =
    "is one for each distribution with a flat-rate plan, and before images alone on a stage without an edge";

  it(cases, { timeout: 90_000 }, async () => {
    const [prod] = settings.stages.filter(({ name }) => name === "prod") as [StageSettings];
    const { edge: _, signIn: __, ...without } = prod;
    const make = (stage: StageSettings) => synthesize(synthesis.functions, { ...settings, stages: [stage] });
    const flat = await make({ ...prod, firewall: { ...firewall, flatRatePlan: true } });
    const images = await make({ ...without, firewall });

    expect(Object.fromEntries(aclsOf(flat.template("colophon-prod")))).toEqual({
      "api.example.com": publishedAs("edge"),
      "images.example.com": publishedAs("images"),
    });
    const flatAcls = flat.template("colophon-prod-eu-central-1-firewall");
    expect(flatAcls.all("WAFv2::WebACL")).toHaveLength(2);
    expect(flatAcls.all("WAFv2::LoggingConfiguration")).toHaveLength(2);
    expect(flatAcls.all("SecretsManager::Secret")).toHaveLength(2);
    const { Metrics } =
      flat
        .template("colophon-prod-eu-central-1-cdn-alarms")
        .all("CloudWatch::Alarm")
        .find(({ Properties }) => Properties.AlarmName === "colophon-prod-eu-central-1-firewall-blocking")
        ?.Properties ?? {};
    expect(
      (Metrics as Properties[]).map(
        ({ Expression, MetricStat }) => Expression ?? MetricStat.Metric.Dimensions[1].Value,
      ),
    ).toEqual([
      "FILL(edge, 0) + FILL(images, 0)",
      ...flatAcls.all("WAFv2::WebACL").map(({ Properties }) => Properties.Name),
    ]);
    expect(aclsOf(images.template("colophon-prod"))).toEqual([["images.example.com", publishedAs("images")]]);
    const { Scope, Rules } = images.template("colophon-prod").one("WAFv2::WebACL").Properties;
    expect([Scope, Rules.map(({ Name }: Properties) => Name)]).toEqual([
      "REGIONAL",
      // No stage signs in there.
      [
        ...["rate", "unlimited-lists", "large-bodies"],
        ...["preflight-0", "too-many-requests-0", "too-many-requests"],
        "common",
      ],
    ]);
    await flat.remove();
    await images.remove();
  });
});
