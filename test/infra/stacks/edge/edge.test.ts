import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { type Declaration, functionName, isPublic, queryOf, routesOf } from "../../../../lib/contract/declare.ts";
import { endpoints } from "../../../../lib/contract/endpoints.ts";
import { changedSynthesis, type Properties, prod, synthesis, templateText } from "../synthesis.ts";

const changed = await changedSynthesis();

/** CloudFront's own policies (CloudFront, "Use managed cache policies" and "… origin request policies"). */
const cachingDisabled = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad";
const allViewerExceptHostHeader = "b689b0a8-53d0-40ab-baf2-68738e2966ac";

const template = synthesis.template("colophon-prod");
const resource = template.find(template.Outputs.EdgeDistribution.Value);
const distribution: Properties = resource.Properties.DistributionConfig;

/** The behaviour for a path: the first whose pattern matches (CloudFront, "Path pattern"). */
function behaviourOf(path: string): Properties {
  const found = (distribution.CacheBehaviors as Properties[]).find(({ PathPattern }) => {
    return new RegExp(`^${PathPattern.replaceAll("*", ".*").replaceAll("?", ".")}$`).test(path);
  });
  return found ?? distribution.DefaultCacheBehavior;
}

const isPublicRead = (each: Declaration) => each.method === "GET" && isPublic(each);
const cached = endpoints.filter((each) => isPublicRead(each) && !each.notCacheable);
const sample = ({ path }: Declaration) => path.replace(/\{\w+\}/g, "made-up-7");

/** No header but the page's origin, no cookie, and the query that CloudFront's function has left. */
const fewParts = {
  HeadersConfig: { HeaderBehavior: "whitelist", Headers: ["Origin"] },
  CookiesConfig: { CookieBehavior: "none" },
  QueryStringsConfig: { QueryStringBehavior: "all" },
};

describe("The edge", () => {
  it.each(cached)("caches $path by its query and the page's origin, and sends the API nothing else", (endpoint) => {
    const behaviour = behaviourOf(sample(endpoint));
    const { CachePolicyConfig } = template.find(behaviour.CachePolicyId).Properties;

    expect(CachePolicyConfig.ParametersInCacheKeyAndForwardedToOrigin).toEqual({
      ...fewParts,
      EnableAcceptEncodingGzip: true,
      EnableAcceptEncodingBrotli: false,
    });
    expect(CachePolicyConfig).toMatchObject({ MinTTL: 0, DefaultTTL: 0, MaxTTL: 172_800 });
    expect(behaviour.OriginRequestPolicyId).toBeUndefined();
  });

  const uncached = endpoints.filter((each) => isPublicRead(each) && each.notCacheable);
  it.each(uncached)("caches nothing of $path", (endpoint) => {
    const behaviour = behaviourOf(sample(endpoint));
    const { OriginRequestPolicyConfig } = template.find(behaviour.OriginRequestPolicyId).Properties;

    expect([behaviour.CachePolicyId, behaviour.PathPattern]).toEqual([cachingDisabled, endpoint.path]);
    expect(OriginRequestPolicyConfig).toMatchObject(fewParts);
  });

  /** What CloudFront's function makes of a request. */
  function sent(path: string, { query = {}, method = "GET", headers = {} }) {
    const [association, ...others]: Properties[] = behaviourOf(path).FunctionAssociations;
    expect([association?.EventType, others]).toEqual(["viewer-request", []]);
    const { FunctionCode } = template.find(association?.FunctionARN).Properties;
    // Objects of another context are equal to none of this one.
    const handler = runInNewContext(`${FunctionCode}; (event) => JSON.stringify(handler(event))`);
    return JSON.parse(handler({ request: { method, uri: path, querystring: query, headers } }));
  }
  const sentTo = (path: string, query: object, method = "GET"): string => sent(path, { query, method }).uri;

  it.each(endpoints.filter(isPublicRead))(
    "sends whole lists to functions of their own, and the origins of panels: $path",
    (endpoint) => {
      const path = sample(endpoint);
      const originOf = (origin: string | undefined) =>
        sent(path, { headers: origin === undefined ? {} : { origin: { value: origin } } }).headers.origin.value;

      expect(sentTo(path, {})).toBe("list" in endpoint.response ? `/whole${path}` : path);
      for (const panel of prod.allowedOrigins) expect(originOf(panel)).toBe(panel);
      for (const other of ["https://fans.example.net", `${prod.allowedOrigins[0]}.example.net`, "null", undefined])
        expect([other, originOf(other)]).toEqual([other, "*"]);
      expect(prod.allowedOrigins).not.toEqual([]);
    },
  );

  it.each(endpoints.filter(isPublicRead))(
    "leaves of the query the declared parameters alone, in one order: $path",
    (endpoint) => {
      const names = Object.keys(queryOf(endpoint)).sort();
      const several = { value: "5", multiValue: [{ value: "5" }, { value: "6" }] };
      const query = Object.fromEntries(
        names.toReversed().map((name, index) => [name, index ? { value: "7" } : several]),
      );
      const others = {
        toString: { value: "1" },
        tags: { value: "1" },
        LIMIT: { value: "1" },
        "%6cimit": { value: "1" },
      };

      const left = sent(sample(endpoint), { query: { ...others, ...query } }).querystring;

      expect(left).toEqual(query);
      expect(Object.keys(left)).toEqual(names);
      expect(sent(sample(endpoint), {}).querystring).toEqual({});
    },
  );

  it("sends a page to the list's own function", () => {
    for (const value of ["5", "999", "050"])
      expect(sentTo("/contributors", { limit: { value } })).toBe("/contributors");
  });

  it("takes what has no limit that the function would see for a whole list", () => {
    const several = { value: "5", multiValue: [{ value: "5" }, { value: "" }] };
    for (const limit of [undefined, several, ...["", "1000", "5x", "-5", "%35"].map((value) => ({ value }))])
      expect([limit, sentTo("/contributors", limit ? { limit } : {})]).toEqual([limit, "/whole/contributors"]);
    expect(sentTo("/contributor/works/7", { LIMIT: { value: "5" } }, "HEAD")).toBe("/whole/contributor/works/7");
  });

  it("leaves the paths of other methods, which have no whole list", () => {
    for (const method of ["OPTIONS", "POST"]) expect(sentTo("/contributors", {}, method)).toBe("/contributors");
  });

  it("forwards everything else, and does not cache it", () => {
    const others = endpoints.filter((each) => !isPublicRead(each)).flatMap(routesOf);
    const unknown = ["/", "/contributor/slug", "/publisher/publications", "/contributors/", "/docs", "/nowhere"];

    for (const path of [...others.map((each) => each.replace(/\{\w+\}/g, "42")), ...unknown])
      expect([path, behaviourOf(path)]).toEqual([path, distribution.DefaultCacheBehavior]);
    expect(distribution.DefaultCacheBehavior).toMatchObject({
      CachePolicyId: cachingDisabled,
      OriginRequestPolicyId: allViewerExceptHostHeader,
    });
  });

  it("accepts every method, over TLS alone", () => {
    for (const each of [distribution.DefaultCacheBehavior, ...distribution.CacheBehaviors]) {
      expect(each.ViewerProtocolPolicy).toBe("https-only");
      expect([...each.AllowedMethods].sort()).toEqual(["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]);
    }
  });

  it("forwards to the stage of the API over TLS alone", () => {
    for (const { OriginPath, CustomOriginConfig } of distribution.Origins) {
      expect(OriginPath).toBe(`/${template.one("ApiGateway::Stage").Properties.StageName}`);
      expect(CustomOriginConfig).toMatchObject({ OriginProtocolPolicy: "https-only", OriginSSLProtocols: ["TLSv1.2"] });
    }
  });

  it("has the stage's domain, with the certificate", () => {
    expect(distribution.Aliases).toEqual([prod.edge?.domain]);
    expect(distribution.ViewerCertificate).toMatchObject({
      AcmCertificateArn: prod.edge?.certificate,
      MinimumProtocolVersion: "TLSv1.2_2021",
    });
  });

  it("does not cache errors of the API", () => {
    const errors: Properties[] = distribution.CustomErrorResponses;
    const times = errors.map(({ ErrorCode, ErrorCachingMinTTL }) => [ErrorCode, ErrorCachingMinTTL]);

    const uncached = [400, 403, 404, 405, 414, 500, 501, 502, 503].map((each) => [each, 0]);
    expect(times).toEqual([...uncached, [504, 30]]);
  });

  it("reads the tags of what it caches for an hour, and hides them from visitors", () => {
    expect(distribution.CacheTagConfig).toEqual({ HeaderName: "Cache-Tag" });
    for (const endpoint of endpoints.filter(isPublicRead)) {
      const policy = template.find(behaviourOf(sample(endpoint)).ResponseHeadersPolicyId).Properties;
      expect(policy.ResponseHeadersPolicyConfig.RemoveHeadersConfig).toEqual({ Items: [{ Header: "Cache-Tag" }] });
    }
    const lifetimes = template
      .each("Lambda::Function")
      .map(({ FunctionName, Environment }) => [FunctionName, Environment.Variables.SHARED_CACHE_SECONDS])
      .filter(([, seconds]) => seconds);
    expect(lifetimes.sort()).toEqual(cached.map((each) => [`colophon-prod-${functionName(each)}`, "3600"]).sort());
    expect(synthesis.template("colophon-dev").text).not.toContain("SHARED_CACHE_SECONDS");
  });

  it("leaves room for other stages in an account: 20 policies of a kind", () => {
    const numbers = ["CachePolicy", "OriginRequestPolicy"].map((each) => template.all(`CloudFront::${each}`).length);
    expect(numbers).toEqual([1, 1]);
  });

  it("is the only door: each method, preflights too, needs a key that CloudFront sends", () => {
    const { paths, components } = template.one("ApiGateway::RestApi").Properties.Body;
    const operations = Object.values<Properties>(paths).flatMap((each) => Object.entries<Properties>(each));

    expect(components.securitySchemes.key).toEqual({ type: "apiKey", name: "x-api-key", in: "header" });
    expect(operations.length).toBeGreaterThan(80);
    for (const [, { security }] of operations) expect(security).toEqual([{ key: [] }]);
    const keys = template.all("ApiGateway::ApiKey");
    const names = [1, 2].map((each) => `/colophon/prod/edge-key-${each}`);
    const secrets = names.map((each) => template.the("SecretsManager::Secret", "Name", each));
    const values = secrets.map(({ id }) => `{{resolve:secretsmanager:\${${id}}:SecretString:key::}}`);
    expect(keys.map(({ Properties }) => templateText(Properties.Value))).toEqual(
      values.flatMap((each) => [each, `${each}-panel`]),
    );
    expect(template.each("ApiGateway::UsagePlanKey").map(({ KeyId }) => template.find(KeyId))).toEqual(keys);
    expect(template.one("ApiGateway::UsagePlan").Properties.Throttle).toEqual({ RateLimit: 1_000, BurstLimit: 2_000 });
    // Otherwise it would ask for a key that CloudFront does not send yet.
    expect(template.one("ApiGateway::Stage").DependsOn).toContain(resource.id);
    expect(synthesis.template("colophon-dev").text).not.toMatch(/x-api-key|ApiGateway::ApiKey|ApiGateway::UsagePlan/);
  });

  it("sends public reads by one key and all else by another, for which the limits of their plan hold each", () => {
    const [visitors, panel] = template
      .all("ApiGateway::ApiKey")
      .map(({ Properties }) => templateText(Properties.Value));
    const keyOf = ({ TargetOriginId }: Properties) => {
      const { OriginCustomHeaders: headers } = distribution.Origins.find(({ Id }: Properties) => Id === TargetOriginId);
      return headers.map(({ HeaderName, HeaderValue }: Properties) => [HeaderName, templateText(HeaderValue)]);
    };

    for (const each of distribution.CacheBehaviors) expect(keyOf(each)).toEqual([["x-api-key", visitors]]);
    expect(keyOf(distribution.DefaultCacheBehavior)).toEqual([["x-api-key", panel]]);
    // Thirty-one addresses at the firewall's limit send more than the plan lets through.
    expect((31 * (prod.firewall?.requestsPerAddressIn5Minutes ?? 0)) / 300).toBeGreaterThan(1_000);
  });

  it("is what a stage's URL names", () => {
    expect(template.Outputs.Url.Value).toBe(`https://${prod.edge?.domain}`);
  });

  it("leaves no output with API Gateway's own URL", () => {
    const outputs = Object.values<Properties>(template.Outputs).map(({ Value }) => templateText(Value));

    expect(outputs.join()).not.toMatch(/execute-api/);
  });
});

describe("A domain of API Gateway", () => {
  it("may stand instead of an edge, and then nothing goes past it, and a mail comes when its certificate ends", () => {
    const direct = changed.template("colophon-dev");

    expect(direct.one("ApiGateway::RestApi").Properties.DisableExecuteApiEndpoint).toBe(true);
    expect(direct.one("ApiGateway::DomainName").Properties.DomainName).toBe("api.dev.example.com");
    expect(direct.Outputs.Url.Value).toBe("https://api.dev.example.com");
    const watched = direct.each("Events::Rule").flatMap(({ EventPattern }) => EventPattern?.resources ?? []);
    expect(watched).toEqual([expect.stringMatching(/^arn:aws:acm:eu-west-1:/)]);
  });

  it("may stand beside it while one takes the name over, and then no key is needed yet, which is ready", () => {
    const both = changed.template("colophon-prod");

    // The edge uses API Gateway's own address.
    expect(both.one("ApiGateway::RestApi").Properties.DisableExecuteApiEndpoint ?? false).toBe(false);
    expect(both.one("ApiGateway::DomainName").Properties.DomainName).toBe("api.example.com");
    expect(both.text).not.toContain('"security":');
    expect(both.all("ApiGateway::UsagePlanKey")).toHaveLength(4);
  });
});

it("What changes is invalidated at the edge within its budget, which takes no concurrency from visitors", () => {
  const { id, Properties: lambda } = template.the("Lambda::Function", "FunctionName", "colophon-prod-ops-invalidate");
  const { API_DISTRIBUTION, INVALIDATIONS_A_DAY } = lambda.Environment.Variables;
  const events = template.each("Lambda::EventInvokeConfig").find(({ FunctionName }) => FunctionName.Ref === id);

  expect([template.find(API_DISTRIBUTION), INVALIDATIONS_A_DAY]).toEqual([resource, "3000"]);
  expect(lambda.ReservedConcurrentExecutions).toBe(5);
  // The schedule overtakes an event that waits for longer.
  expect(events).toMatchObject({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 });
});
