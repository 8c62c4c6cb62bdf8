import { beforeAll, describe, expect, it } from "vitest";
import type { Settings, StageSettings } from "../../../../infra/settings/schema.ts";
import { settings } from "../../../../infra/stages.ts";
import { type Declaration, functionName, isPublic, queryOf, routesOf } from "../../../../lib/contract/declare.ts";
import { endpoints } from "../../../../lib/contract/endpoints.ts";
import { type Properties, synthesize, type Template, templateText, useSynthesis } from "../synthesis.ts";

const synthesis = useSynthesis();

/** CloudFront's own policies (CloudFront, "Use managed cache policies" and "… origin request policies"). */
const cachingDisabled = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad";
const allViewerExceptHostHeader = "b689b0a8-53d0-40ab-baf2-68738e2966ac";

const stages: Settings["stages"] = settings.stages;
const prod = stages.find(({ name }) => name === "prod") as StageSettings;

let template: Template;
let distribution: Properties;

const edgeOf = (given: Template, domain: string | undefined): Properties => {
  const found = given.all("CloudFront::Distribution").find(({ Properties }) => {
    return Properties.DistributionConfig.Aliases.includes(domain);
  });
  return found?.Properties.DistributionConfig ?? expect.fail(`Nothing serves ${domain}`);
};

beforeAll(() => {
  template = synthesis.template("colophon-prod");
  distribution = edgeOf(template, prod.edge?.domain);
});

/** The behaviour for a path: the first whose pattern matches (CloudFront, "Path pattern"). */
function behaviourOf(path: string): Properties {
  const found = (distribution.CacheBehaviors as Properties[]).find(({ PathPattern }) => {
    return new RegExp(`^${PathPattern.replaceAll("*", ".*").replaceAll("?", ".")}$`).test(path);
  });
  return found ?? distribution.DefaultCacheBehavior;
}

const originOf = ({ TargetOriginId }: Properties): Properties =>
  (distribution.Origins as Properties[]).find(({ Id }) => Id === TargetOriginId) ?? expect.fail("No origin");

const isPublicRead = (each: Declaration) => each.method === "GET" && isPublic(each);
const sample = ({ path }: Declaration) => path.replace(/\{\w+\}/g, "made-up-7");
const parametersOf = ({ QueryStringsConfig }: Properties) =>
  [QueryStringsConfig.QueryStringBehavior, QueryStringsConfig.QueryStrings ?? []] as const;
const declared = (declaration: Declaration) => {
  const names = Object.keys(queryOf(declaration)).sort();
  return [names.length > 0 ? "whitelist" : "none", names] as const;
};

describe("The edge", () => {
  it.each(endpoints.filter((each) => isPublicRead(each) && !each.notCacheable))(
    "keeps $path by its declared parameters alone",
    (endpoint) => {
      const behaviour = behaviourOf(sample(endpoint));
      const { CachePolicyConfig } = template.find(behaviour.CachePolicyId).Properties;
      const key = CachePolicyConfig.ParametersInCacheKeyAndForwardedToOrigin;

      expect(parametersOf(key)).toEqual(declared(endpoint));
      expect(key.HeadersConfig).toEqual({ HeaderBehavior: "none" });
      expect(key.CookiesConfig).toEqual({ CookieBehavior: "none" });
      expect(key.EnableAcceptEncodingGzip).toBe(true);
      expect(key.EnableAcceptEncodingBrotli).toBe(false);
      expect(CachePolicyConfig).toMatchObject({ MinTTL: 0, DefaultTTL: 0, MaxTTL: 172_800 });
      expect(behaviour.CachedMethods ?? ["GET", "HEAD"]).toEqual(["GET", "HEAD"]);
    },
  );

  it.each(endpoints.filter((each) => isPublicRead(each) && each.notCacheable))("keeps nothing of $path", (endpoint) => {
    const behaviour = behaviourOf(sample(endpoint));

    expect(behaviour.CachePolicyId).toBe(cachingDisabled);
    expect(behaviour.PathPattern).toBe(endpoint.path);
  });

  it.each(endpoints.filter(isPublicRead))("sends the origin of $path nothing of a visitor", (endpoint) => {
    const behaviour = behaviourOf(sample(endpoint));
    if (!endpoint.notCacheable) {
      expect(behaviour.OriginRequestPolicyId).toBeUndefined();
      return;
    }
    const { OriginRequestPolicyConfig } = template.find(behaviour.OriginRequestPolicyId).Properties;

    expect(OriginRequestPolicyConfig.HeadersConfig).toEqual({ HeaderBehavior: "none" });
    expect(OriginRequestPolicyConfig.CookiesConfig).toEqual({ CookieBehavior: "none" });
    expect(parametersOf(OriginRequestPolicyConfig)).toEqual(declared(endpoint));
  });

  it("forwards everything else, and does not cache it", () => {
    const others = endpoints.filter((each) => !isPublicRead(each));
    const paths = [
      ...others.flatMap(routesOf).map((path) => path.replace(/\{\w+\}/g, "42")),
      ...["/", "/contributor/slug", "/publisher/publications", "/contributors/", "/docs", "/nowhere"],
    ];

    expect(others.length).toBeGreaterThan(20);
    for (const path of paths) expect([path, behaviourOf(path)]).toEqual([path, distribution.DefaultCacheBehavior]);
    expect(distribution.DefaultCacheBehavior).toMatchObject({
      CachePolicyId: cachingDisabled,
      OriginRequestPolicyId: allViewerExceptHostHeader,
    });
  });

  it("takes every method, over TLS alone, for the API to answer", () => {
    for (const each of [distribution.DefaultCacheBehavior, ...(distribution.CacheBehaviors as Properties[])]) {
      expect(each.ViewerProtocolPolicy).toBe("https-only");
      expect([...each.AllowedMethods].sort()).toEqual(["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]);
      const { DomainName, OriginPath, CustomOriginConfig } = originOf(each);
      expect(templateText(DomainName)).toMatch(/^\$\{\w+\}\.execute-api\.eu-central-1\.\$\{AWS::URLSuffix\}$/);
      expect(OriginPath).toBe(`/${template.one("ApiGateway::Stage").Properties.StageName}`);
      expect(CustomOriginConfig).toMatchObject({ OriginProtocolPolicy: "https-only", OriginSSLProtocols: ["TLSv1.2"] });
    }
    expect(distribution.ViewerCertificate).toMatchObject({
      AcmCertificateArn: prod.edge?.certificate,
      MinimumProtocolVersion: "TLSv1.2_2021",
    });
    expect(distribution.HttpVersion).toBe("http2and3");
  });

  it("does not cache errors of the API", () => {
    const times = Object.fromEntries(
      (distribution.CustomErrorResponses as Properties[]).map((each) => [each.ErrorCode, each.ErrorCachingMinTTL]),
    );

    expect(times).toEqual({ 400: 0, 403: 0, 404: 0, 405: 0, 414: 0, 500: 0, 501: 0, 502: 0, 503: 0, 504: 30 });
  });

  it("reads the tags of what it caches, and hides them from visitors", () => {
    expect(distribution.CacheTagConfig).toEqual({ HeaderName: "Cache-Tag" });
    for (const endpoint of endpoints.filter(isPublicRead)) {
      const { Properties } = template.find(behaviourOf(sample(endpoint)).ResponseHeadersPolicyId);
      expect(Properties.ResponseHeadersPolicyConfig.RemoveHeadersConfig).toEqual({ Items: [{ Header: "Cache-Tag" }] });
    }
    for (const { Properties } of template.all("CloudFront::Distribution"))
      if (!Properties.DistributionConfig.Aliases.includes(prod.edge?.domain))
        expect(Properties.DistributionConfig.CacheTagConfig).toBeUndefined();
  });

  it("keeps public answers for an hour, and shared caches without an edge for ten minutes", () => {
    const lifetimes = (stage: string) =>
      synthesis
        .template(stage)
        .all("Lambda::Function")
        .map(({ Properties }) => [Properties.FunctionName, Properties.Environment?.Variables?.SHARED_CACHE_SECONDS])
        .filter(([, seconds]) => seconds)
        .sort();
    const cached = endpoints.filter((each) => isPublicRead(each) && !each.notCacheable).map(functionName);

    expect(lifetimes("colophon-prod")).toEqual(cached.map((each) => [`colophon-prod-${each}`, "3600"]).sort());
    expect(lifetimes("colophon-dev")).toEqual([]);
  });

  it("leaves room for other stages in an account: 20 policies of a kind", () => {
    expect(template.all("CloudFront::CachePolicy").length).toBeLessThanOrEqual(4);
    expect(template.all("CloudFront::OriginRequestPolicy").length).toBeLessThanOrEqual(2);
    expect(distribution.CacheBehaviors.length).toBeLessThan(75);
  });

  it("is the only door: each method but a preflight needs the key that CloudFront sends", () => {
    const { paths, components } = template.one("ApiGateway::RestApi").Properties.Body;
    const operations = Object.values<Properties>(paths).flatMap((each) => Object.entries<Properties>(each));

    expect(components.securitySchemes.key).toEqual({ type: "apiKey", name: "x-api-key", in: "header" });
    expect(operations.length).toBeGreaterThan(80);
    for (const [method, { security }] of operations)
      expect(security).toEqual(method === "options" ? undefined : [{ key: [] }]);
    const keys = template.all("ApiGateway::ApiKey");
    const [secret, next] = template
      .all("SecretsManager::Secret")
      .filter(({ Properties }) => /edge-key/.test(Properties.Name));
    expect(keys.map(({ Properties }) => templateText(Properties.Value))).toEqual(
      [secret, next].map((each) => `{{resolve:secretsmanager:\${${each?.id}}:SecretString:key::}}`),
    );
    for (const origin of distribution.Origins)
      expect(origin.OriginCustomHeaders).toEqual([{ HeaderName: "x-api-key", HeaderValue: keys[0]?.Properties.Value }]);
    expect(
      template.all("ApiGateway::UsagePlanKey").map(({ Properties }) => template.find(Properties.KeyId).id),
    ).toEqual(keys.map(({ id }) => id));
    expect(template.one("ApiGateway::UsagePlan").Properties.Throttle).toEqual({ RateLimit: 1_000, BurstLimit: 2_000 });
    // Otherwise it would ask for a key that CloudFront does not send yet.
    expect(template.one("ApiGateway::Stage").DependsOn).toContain(
      template.find(template.Outputs.EdgeDistribution.Value).id,
    );
  });

  it("has a key only with an edge", () => {
    const dev = synthesis.template("colophon-dev");

    expect(dev.text).not.toMatch(/x-api-key|ApiGateway::ApiKey|ApiGateway::UsagePlan/);
  });

  it("is what a stage's URL names; no output names API Gateway's own", () => {
    expect(template.Outputs.Url.Value).toBe(`https://${prod.edge?.domain}`);
    expect(
      Object.values<Properties>(template.Outputs)
        .map(({ Value }) => templateText(Value))
        .join(),
    ).not.toMatch(/execute-api/);
    expect(template.one("ApiGateway::RestApi").Properties.DisableExecuteApiEndpoint ?? false).toBe(false);
    expect(template.find(template.Outputs.EdgeDistribution.Value).Type).toBe("AWS::CloudFront::Distribution");
  });
});

describe("A stage", () => {
  const certificate = "arn:aws:acm:eu-central-1:123456789012:certificate/00000000-0000-4000-8000-000000000009";
  const domain = { name: "api.example.com", certificate };
  const { edge: _, ...without } = prod;

  const title = "may have a domain of API Gateway instead of an edge, or beside it while one takes the name over";

  it(title, { timeout: 90_000 }, async () => {
    const { firewall: __, ...open } = prod;
    const both = { ...open, domain };
    const cases = await Promise.all(
      [{ ...without, domain }, both].map(async (stage) => {
        const { template: of, remove } = await synthesize(synthesis.functions, { ...settings, stages: [stage] });
        const made = of("colophon-prod");
        await remove();
        return made;
      }),
    );
    const [direct, taken] = cases as [Template, Template];

    expect(direct.one("ApiGateway::RestApi").Properties.DisableExecuteApiEndpoint).toBe(true);
    expect(direct.Outputs.Url.Value).toBe("https://api.example.com");
    expect(direct.all("CloudFront::CachePolicy")).toEqual([]);
    expect(taken.one("ApiGateway::RestApi").Properties.DisableExecuteApiEndpoint ?? false).toBe(false);
    for (const each of cases) expect(each.one("ApiGateway::DomainName").Properties.DomainName).toBe("api.example.com");
    expect(edgeOf(taken, "api.example.com").ViewerCertificate.AcmCertificateArn).toBe(prod.edge?.certificate);
    expect(/WebACLId|WAFv2/.test(taken.text)).toBe(false);
    // Until the name leads to the edge, visitors come without its key, which is ready for them.
    expect(taken.text).not.toContain('"security":');
    expect(taken.all("ApiGateway::UsagePlanKey")).toHaveLength(2);
    expect(direct.all("Events::Rule").flatMap(({ Properties }) => Properties.EventPattern?.resources ?? [])).toEqual([
      certificate,
    ]);
  });
});
