import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { publicReads } from "../../infra/api/public-reads.ts";
import { type ApiGateway, startApiGateway } from "../../infra/aws-local/api-gateway/server.ts";
import { type Lambda, startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import { localDocument } from "../../infra/local/stage/document.ts";
import { settingsOf } from "../../infra/local/stage/functions.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { aContributor, aPublisher, aSeries } from "../support/catalogue.ts";
import { panelOrigin } from "../support/environment.ts";
import { anAdministrator, type Person } from "../support/people.ts";
import { type Stack, startStack } from "../support/stack.ts";
import { hasSharedCache, type SharedCache, startSharedCache } from "./shared-cache.ts";
import { withWholeLists } from "./whole-lists.ts";

const [key, nextKey] = ["the-key-that-the-edge-sends", "the-key-that-it-sends-next"] as const;

/** A function stops retrying 5 s before its timeout, so with these it stops after three seconds; public reads after 6.5. */
const timeouts = { bufferedInMilliseconds: 8_000, longInMilliseconds: 8_000 };

let stack: Stack;
/** How many whole lists of a kind can run at once. */
const readers = 2;

let whole: Lambda;
let gateway: ApiGateway;
let cache: SharedCache;
let administrator: Person;

beforeAll(async () => {
  if (!hasSharedCache) return;
  stack = await startStack({ ownPostgres: true, timeouts, variables: () => ({ SHARED_CACHE_SECONDS: "1" }) });
  administrator = await anAdministrator(stack.sql);
  whole = await startLambda({ outdir: inject("outdir"), limits: { environments: readers }, settingsOf });
  gateway = await startApiGateway({
    lambda: withWholeLists(stack.lambda, whole),
    document: localDocument({ allowedOrigins: [panelOrigin], edge: true }),
    apiKeys: [key, nextKey],
  });
  cache = await startSharedCache(gateway.url, publicReads(endpoints), { key, allowedOrigins: [panelOrigin] });
});

afterAll(async () => {
  await cache?.close();
  await gateway?.close();
  await whole?.close();
  await stack?.close();
});

const cookie = () => ({ Cookie: `refreshToken=${administrator.token}` });

describe.skipIf(!hasSharedCache)("The door behind the edge", () => {
  const direct = (path: string, init: RequestInit = {}) => fetch(gateway.url + path, init);
  const paths = ["/publishers?limit=1", "/admin-roles", "/session"];

  it("returns 403 in the envelope without a key, and by a wrong one, which the panel can read", async () => {
    for (const path of paths)
      for (const headers of [{}, { "x-api-key": "mine" }]) {
        const response = await direct(path, { headers: { ...cookie(), ...headers, Origin: panelOrigin } });

        expect([response.status, await response.json()]).toEqual([403, { data: "Forbidden", code: 403 }]);
        expect(response.headers.get("Access-Control-Allow-Origin")).toBe(panelOrigin);
        expect(response.headers.get("Access-Control-Allow-Credentials")).toBe("true");
      }
  });

  it("is open by the current key and by the next one, and to the edge, whatever key a visitor sends", async () => {
    for (const path of paths) {
      for (const each of [key, nextKey])
        expect((await direct(path, { headers: { ...cookie(), "x-api-key": each } })).status).toBe(200);
      expect((await cache.send(path, { headers: { ...cookie(), "x-api-key": "mine" } })).status).toBe(200);
    }
  });

  it("needs a key for a preflight, too, but none to say that there is no such route", async () => {
    const preflight = { Origin: panelOrigin, "Access-Control-Request-Method": "GET" };

    expect((await direct("/admin-roles", { method: "OPTIONS", headers: preflight })).status).toBe(403);
    expect((await cache.send("/admin-roles", { method: "OPTIONS", headers: preflight })).status).toBe(204);
    expect((await direct("/nothing")).status).toBe(404);
  });
});

describe.skipIf(!hasSharedCache)("The edge", () => {
  const corsOf = async (path: string, Origin?: string) => {
    const { headers, cache: from } = await cache.send(path, { headers: Origin === undefined ? {} : { Origin } });
    return [from, headers["access-control-allow-origin"], headers["access-control-allow-credentials"]];
  };

  it("allows a panel to send its cookie, and has one response for pages of all other sites", async () => {
    const { slug } = await aContributor(stack.sql);
    for (const path of [`/contributor/slug/${slug}`, "/publishers?limit=1&offset=3"]) {
      expect(await corsOf(path)).toEqual(["MISS", "*", undefined]);
      for (const site of ["https://fans.example.net", "https://shop.example.org", "null", undefined])
        expect([site, await corsOf(path, site)]).toEqual([site, ["HIT", "*", undefined]]);
      expect(await corsOf(path, panelOrigin)).toEqual(["MISS", panelOrigin, "true"]);
      expect(await corsOf(path, panelOrigin)).toEqual(["HIT", panelOrigin, "true"]);
    }
  });

  it("allows both to read errors, the gateway's own included", async () => {
    // API Gateway itself refuses an address that cannot be decoded.
    for (const path of ["/contributor/slug/nobody-of-this-name", "/contributor/slug/%zz", "/contributor/random"]) {
      expect((await corsOf(path, "https://fans.example.net"))[1]).toBe("*");
      expect((await corsOf(path, panelOrigin)).slice(1)).toEqual([panelOrigin, "true"]);
    }
  });
});

describe.skipIf(!hasSharedCache)("Whole lists", () => {
  it("are the same as the pages of the list together", async () => {
    const list = async (path: string) => JSON.parse((await cache.send(path)).text).contributors;
    for (const first_name of ["Ann", "Ben", "Cid"]) await aContributor(stack.sql, { first_name });

    const pages = [await list("/contributors?limit=2&client=1"), await list("/contributors?client=1&limit=2&offset=2")];
    expect(await list("/contributors?client=1")).toEqual(pages.flat());
    expect(await list("/contributors?limit=1000&client=1")).toEqual(pages.flat());
  });

  it("keep nobody from a page while slow readers have all that may run at once", async () => {
    const end = Promise.withResolvers<void>();
    const atReaders = Promise.withResolvers<void>();
    let held = 0;
    stack.dataApi.intercept(() => {
      if (held === readers) return undefined;
      held += 1;
      if (held === readers) atReaders.resolve();
      return { kind: "hold", until: end.promise };
    });
    const slow = Array.from({ length: readers }, () => cache.send("/contributors?client=1"));
    await atReaders.promise;

    const page = await cache.send("/contributors?client=1&limit=1&search=ann");
    end.resolve();
    expect([page.status, JSON.parse(page.text).contributors.length]).toEqual([200, 1]);
    for (const { status } of await Promise.all(slow)) expect(status).toBe(200);
  });
});

describe.skipIf(!hasSharedCache)("While the database is stopped", () => {
  it("what was read before is served, and the panel gets 503 with Retry-After", async () => {
    const [contributor, publisher] = [await aContributor(stack.sql), await aPublisher(stack.sql)];
    await aSeries(stack.sql, { by: contributor, from: publisher });
    // Every public read that may be cached.
    const urls = [
      "/contributors?client=1&limit=999",
      "/contributors?client=1&limit=50&order=added-desc",
      `/contributor/slug/${contributor.slug}`,
      `/contributor/works/${contributor.id}?client=1&limit=50`,
      "/publishers?limit=50",
      `/publisher/slug/${publisher.slug}`,
      `/publisher/publications/${publisher.id}?client=1&limit=50`,
    ];
    const readAll = async () => await Promise.all(urls.map((url) => cache.send(url)));
    // One after another, since the functions are loaded first.
    const before: Awaited<ReturnType<typeof readAll>> = [];
    for (const url of urls) before.push(await cache.send(url));
    expect(before.map(({ status, cache: source }) => [status, source])).toEqual(urls.map(() => [200, "MISS"]));

    await stack.postgres?.stop();
    const refused = await Promise.all([
      cache.send("/admin-contributors?client=1", { headers: cookie() }),
      cache.send("/contributor/slug/cold"),
    ]);
    for (const { status, headers } of refused)
      expect([status, headers["retry-after"], headers["cache-control"]]).toEqual([503, "5", "no-store"]);
    const sources = async () => new Set((await readAll()).map(({ cache }) => cache));
    await expect.poll(sources, { interval: 1_000 }).toEqual(new Set(["STALE"]));
    expect((await readAll()).map(({ status, text }) => [status, text])).toEqual(before.map(({ text }) => [200, text]));
  });

  it("later changes are visible when it runs again", async () => {
    await stack.postgres?.restart();
    await aContributor(stack.sql, { first_name: "Afterwards" });

    const newest = () => cache.send("/contributors?client=1&limit=50&order=added-desc");
    await expect.poll(async () => (await newest()).text).toContain("Afterwards");
    expect((await cache.send("/admin-contributors?client=1", { headers: cookie() })).status).toBe(200);
  });
});
