import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { publicReads } from "../../infra/api/public-reads.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { aContributor, aPublisher, aSeries } from "../support/catalogue.ts";
import { anAdministrator } from "../support/people.ts";
import { type Stack, startStack } from "../support/stack.ts";
import { hasSharedCache, type SharedCache, startSharedCache } from "./shared-cache.ts";

let stack: Stack;
let cache: SharedCache;
let headers: { readonly Cookie: string };

/** A function stops retrying 5 s before its timeout, so with these it stops after three seconds; public reads after 6.5. */
const timeouts = { bufferedInMilliseconds: 8_000, longInMilliseconds: 8_000 };
/** How long the edge of a stage keeps responses. */
const day = 86_400;

beforeAll(async () => {
  if (!hasSharedCache) return;
  stack = await startStack({ ownPostgres: true, timeouts, variables: () => ({ SHARED_CACHE_SECONDS: `${day}` }) });
  cache = await startSharedCache(stack.url, publicReads(endpoints));
  headers = { Cookie: `refreshToken=${(await anAdministrator(stack.sql)).token}` };
});

afterAll(async () => {
  await cache?.close();
  await stack?.close();
});

/** At least one URL of every public read that may be cached. */
async function warmUrls(): Promise<string[]> {
  const [contributor, publisher] = [await aContributor(stack.sql), await aPublisher(stack.sql)];
  await aSeries(stack.sql, { by: contributor, from: publisher });
  return [
    "/contributors?client=1&limit=999",
    "/contributors?client=1&limit=50&order=added-desc",
    `/contributor/slug/${contributor.slug}`,
    `/contributor/works/${contributor.id}?client=1&limit=50`,
    "/publishers?limit=50",
    `/publisher/slug/${publisher.slug}`,
    `/publisher/publications/${publisher.id}?client=1&limit=50`,
  ];
}

describe.skipIf(!hasSharedCache)("While the database is stopped", () => {
  it("what was read in the last day is served for an hour, and the panel gets 503 with Retry-After", async () => {
    const [early, late] = [await warmUrls(), await warmUrls()];
    const urls = [...new Set([...early, ...late])];
    const before = new Map<string, string>();
    // One after the other, since the edge keeps a response that took long for seconds only.
    const warm = async (urls: readonly string[]) => {
      for (const url of urls.filter((each) => !before.has(each))) {
        const { status, cache: source, text } = await cache.send(url);
        expect([status, source]).toEqual([200, "MISS"]);
        before.set(url, text);
      }
    };
    await warm(early);
    await cache.advance(day - 30);
    await warm(late);

    await stack.postgres?.stop();
    // The early ones are fresh, then stale while the cache asks behind them, and then stale because that fails.
    for (const [seconds, source] of [
      [20, "HIT"],
      [40, "STALE"],
      [3_540, "STALE"],
    ] as const) {
      await cache.advance(seconds);
      const responses = await Promise.all(urls.map((url) => cache.send(url)));
      expect(responses.map(({ status, text }) => [status, text])).toEqual(urls.map((url) => [200, before.get(url)]));
      const expected = urls.map((url) => (early.includes(url) ? source : "HIT"));
      expect(responses.map(({ cache }) => cache)).toEqual(expected);
    }

    const refused = await Promise.all([
      cache.send("/admin-contributors?client=1", { headers }),
      cache.send("/contributor/slug/cold"),
    ]);
    for (const { status, headers } of refused)
      expect([status, headers["retry-after"], headers["cache-control"]]).toEqual([503, "5", "no-store"]);
  });

  it("later changes are visible when it runs again", async () => {
    await stack.postgres?.restart();
    await aContributor(stack.sql, { first_name: "Afterwards" });

    expect(await cache.send("/contributors?client=1")).toMatchObject({
      status: 200,
      text: expect.stringContaining("Afterwards"),
    });
    expect((await cache.send("/admin-contributors?client=1", { headers })).status).toBe(200);
  });
});
