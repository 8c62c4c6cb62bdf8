import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApiGateway } from "../../../../infra/aws-local/api-gateway/server.ts";
import { echo, lambdaOf } from "../../../../infra/aws-local/test/rest-api.ts";
import { send } from "../../../../infra/aws-local/test/send.ts";
import { localDocument } from "../../../../infra/local/document.ts";
import type { StageSettings } from "../../../../infra/settings/schema.ts";
import { settings } from "../../../../infra/stages.ts";
import { listContributors } from "../../../../lib/contract/contributors.ts";
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
import { countedBy, type Visit } from "./waf.ts";

const synthesis = useSynthesis();
const firewall = {
  requestsPerAddressIn5Minutes: 3_000,
  unlimitedListsPerAddressIn5Minutes: 30,
  trustedAddresses: ["192.0.2.0/28", "2001:db8:1::/48"],
};

let changed: Synthesis;
/** The first behind an edge, the second not. */
let prod: Template;
let dev: Template;

beforeAll(async () => {
  const stages = settings.stages.map((each): StageSettings => ({ ...each, firewall }));
  changed = await synthesize(synthesis.functions, { ...settings, stages });
  prod = changed.template("colophon-prod");
  dev = changed.template("colophon-dev");
});

afterAll(() => changed?.remove());

const visitor = "198.51.100.7";
const cloudFront = "203.0.113.9";

const secretOf = (template: Template) =>
  templateText(
    template
      .all("CloudFront::Distribution")
      .flatMap(({ Properties }) => Properties.DistributionConfig.Origins as Properties[])
      .flatMap(({ OriginCustomHeaders }) => (OriginCustomHeaders as Properties[] | undefined) ?? [])
      .find(({ HeaderName }) => HeaderName === "X-Colophon-Edge")?.HeaderValue,
  );

/** A visit through CloudFront, which names the visitor's address. */
const throughEdge = (address: string, path = "/v1/contributor/slug/a"): Visit => ({
  address: cloudFront,
  path,
  headers: { "x-colophon-edge": secretOf(prod), "x-colophon-visitor": address },
});

describe("The firewall", () => {
  it("counts each visitor, through the edge and directly", () => {
    const direct = { address: visitor, path: "/v1/contributor/slug/a" };

    expect(countedBy(dev, direct)).toEqual({ rate: visitor });
    expect(countedBy(prod, direct)).toEqual({ rate: visitor });
    expect(countedBy(prod, throughEdge(visitor))).toEqual({ "rate-through-edge": visitor });
  });

  it("uses the address in a header only for requests of CloudFront", () => {
    // A trusted one, not to be counted, or somebody else's, for that one to be.
    for (const address of ["192.0.2.1", "203.0.113.50"]) {
      const named = { "x-colophon-visitor": address, "x-forwarded-for": address };
      for (const headers of [named, { ...named, "x-colophon-edge": "" }, { ...named, "x-colophon-edge": "guess" }])
        expect(countedBy(prod, { address: visitor, path: "/v1/publishers", query: "limit=5", headers })).toEqual({
          rate: visitor,
        });
    }
  });

  it("does not count trusted addresses, with or without the edge", () => {
    for (const address of ["192.0.2.1", "192.0.2.15", "2001:db8:1:2::3"]) {
      expect(countedBy(dev, { address, path: "/contributors" })).toEqual({});
      expect(countedBy(prod, { address, path: "/v1/contributors" })).toEqual({});
      expect(countedBy(prod, throughEdge(address, "/v1/contributors"))).toEqual({});
    }
    for (const address of ["192.0.2.16", "2001:db8:2::1"]) {
      expect(countedBy(prod, { address, path: "/v1/publishers" })).toEqual({
        rate: address,
        "unlimited-lists": address,
      });
    }
  });

  const lists = endpoints.filter(({ response, query }) => "list" in response && query && "limit" in query);

  it.each(lists.map(({ path }) => path.replace(/\{\w+\}/, "42")))(
    "counts %s without a limit as a whole list",
    (path) => {
      const rules = (query?: string) =>
        ["", "/v1"].map((stage) =>
          Object.keys(countedBy(dev, { address: visitor, path: stage + path, ...(query ? { query } : {}) })),
        );
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
    const buffered = { ...listContributors, answers: { message: "" } };
    const gateway = await startApiGateway({ lambda, document: localDocument({ endpoints: [buffered] }) });
    const parse = inputParser(listContributors);
    /** What the function would read: no records if it answers 400, and all without a limit. */
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
        const isWhole = "unlimited-lists" in countedBy(dev, { address: visitor, path: "/v1/contributors", query });
        expect(isWhole || (await recordsOf(query)) < 1_000).toBe(true);
      }),
      {
        numRuns: 300,
        examples: [["client=1&limit=1&limit"], ["client=1&limit=1;limit="], ["client=1&limit=1&%6Cimit"]],
      },
    );
    await gateway.close();
  });

  it("counts nothing else as a whole list", () => {
    const others = endpoints.filter((each) => !lists.includes(each)).map(({ path }) => path.replace(/\{\w+\}/, "42"));
    for (const path of [...others, "/contributor/works", "/contributorsx", "/nowhere"])
      expect([path, countedBy(dev, { address: visitor, path: `/v1${path}` })]).toEqual([path, { rate: visitor }]);
  });

  it("answers 429 with Retry-After, in the envelope", () => {
    const { Rules, CustomResponseBodies } = prod.one("WAFv2::WebACL").Properties;
    const rates = (Rules as Properties[]).filter(({ Statement }) => Statement.RateBasedStatement);

    expect(rates.map(({ Name, Statement }) => [Name, Statement.RateBasedStatement.Limit])).toEqual([
      ["rate", 3_000],
      ["rate-through-edge", 3_000],
      ["unlimited-lists", 30],
      ["unlimited-lists-through-edge", 30],
    ]);
    for (const { Action } of rates) {
      const { ResponseCode, CustomResponseBodyKey, ResponseHeaders } = Action.Block.CustomResponse;
      expect(ResponseCode).toBe(429);
      expect(ResponseHeaders).toContainEqual({ Name: "Retry-After", Value: "60" });
      expect(ResponseHeaders).toContainEqual({ Name: "Cache-Control", Value: "no-store" });
      expect(CustomResponseBodies[CustomResponseBodyKey]).toEqual({
        ContentType: "APPLICATION_JSON",
        Content: '{"data":"Too many requests","code":429}',
      });
    }
  });

  it("fits what AWS WAF takes", () => {
    const regexes = prod.text.match(/(?<="RegexString": ?").*?(?=")/g) ?? [];

    expect(regexes.length).toBeGreaterThan(3);
    for (const each of regexes) expect(each.length).toBeLessThanOrEqual(512);
  });
});
