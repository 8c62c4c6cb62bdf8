import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { publicReads } from "../../infra/api/public-reads.ts";
import { type ApiGateway, startApiGateway } from "../../infra/aws-local/api-gateway/server.ts";
import { scale } from "../../infra/local/demo/scale.ts";
import { localDocument } from "../../infra/local/document.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { anAdministrator } from "../support/people.ts";
import { type Stack, startStack } from "../support/stack.ts";
import { hasSharedCache, type SharedCache, startSharedCache } from "./shared-cache.ts";

let stack: Stack;
let gateway: ApiGateway;
let cache: SharedCache;
let readsAtTheOrigin = 0;
let cookie: string;
let contributors: readonly { readonly id: number; readonly slug: string }[];
/** The most frequent URLs of a site: 200 contributors here, and 50 `pages` of lists. */
let records: readonly string[];

/** Each URL as often as 400 requests a second ask for 1,000 of them. */
const requestsInASecond = 100;
const seconds = 75;

const pages = ["name-asc", "added-desc"].flatMap((order) =>
  Array.from({ length: 25 }, (_, n) => `/contributors?client=1&order=${order}&limit=50&offset=${n * 25}`),
);

beforeAll(async () => {
  if (!hasSharedCache) return;
  stack = await startStack();
  await scale(`${inject("ownerUrl")}/${process.env.DATABASE_NAME}`, 2_000, () => {});
  contributors = await stack.sql<{ id: number; slug: string }[]>`select id, slug from contributors order by id`;
  records = contributors.slice(0, 200).map(({ slug }) => `/contributor/slug/${slug}`);
  cookie = `refreshToken=${(await anAdministrator(stack.sql)).token}`;
  gateway = await startApiGateway({
    lambda: stack.lambda,
    document: localDocument(),
    pages: [
      ({ method }) => {
        if (method === "GET") readsAtTheOrigin += 1;
        return false;
      },
    ],
  });
  cache = await startSharedCache(gateway.url, publicReads(endpoints));
});

afterAll(async () => {
  await cache?.close();
  await gateway?.close();
  await stack?.close();
});

/** Pseudo-random numbers from 0 to below 1, the same in each run (Lehmer, "minstd"). */
function numbers(): () => number {
  let state = 20_261_122;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const next = numbers();
const oneOf = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)] as T;

const change = () =>
  cache.send(`/admin-contributors/edit/${oneOf(contributors).id}`, {
    method: "POST",
    headers: { Cookie: cookie, "Content-Type": "application/json" },
    body: JSON.stringify({ first_name: `Changed ${next()}`, public: true }),
  });

describe.skipIf(!hasSharedCache)("Of 100 requests a second for 250 hot URLs", () => {
  it("the cache answers at least 95 % of the reads, from cold", { timeout: 240_000 }, async () => {
    const reads: (string | undefined)[] = [];
    const failures: number[] = [];
    const visit = async () => {
      const kind = next();
      const answer = await (kind < 0.01 ? change() : cache.send(oneOf(kind < 0.21 ? pages : records)));
      if (kind >= 0.01) reads.push(answer.cache);
      if (answer.status !== 200) failures.push(answer.status);
    };
    for (let second = 0; second < seconds; second++) {
      await Promise.all(Array.from({ length: requestsInASecond }, visit));
      await cache.advance(1);
    }

    expect(new Set([...records, ...pages]).size).toBe(250);
    const fromCache = reads.filter((each) => each === "HIT" || each === "STALE").length;
    console.log(`${((100 * fromCache) / reads.length).toFixed(1)} % of ${reads.length} reads from the cache`);
    expect(failures).toEqual([]);
    expect(reads.length).toBeGreaterThan(7_250);
    expect(fromCache / reads.length).toBeGreaterThanOrEqual(0.95);
    // Requests that revalidate in the background cost, too: each URL once a minute, 4 % of the reads.
    expect(readsAtTheOrigin).toBeLessThanOrEqual(250 * Math.ceil(seconds / 60));
  });
});
