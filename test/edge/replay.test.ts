import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { leaseInMilliseconds } from "../../lib/operators/stale-tags.ts";
import { numbers } from "../support/seed.ts";
import { pick, urlsOf, zipf } from "./replay/catalogue.ts";
import { type Change, changes, type Target } from "./replay/changes.ts";
import { type ReadResponse, type Site, startSite, withoutRandom } from "./replay/site.ts";
import { type Excuse, openWitness, type Time } from "./replay/witness.ts";
import { hasSharedCache } from "./shared-cache.ts";

const count = 144;
const readsPerSecond = 12;

const bound: Time = 8_000;
/** Of a response that took long: the edge keeps it for 5 s, and sends it once more while it fetches the next one. */
const boundOfSlowReads: Time = 10_000;
/**
 * AWS says 5 s for 95 of 100 invalidations. With such a CloudFront 5 s cannot be kept for each change, so this one takes
 * less.
 */
const delay = { min: 300, max: 3_500 };

const next = numbers(20_261_122);
const gzip = { "Accept-Encoding": "gzip" };

let site: Site;
let nextUrl: () => string;
const witness = openWitness();
/** Of changes without a notification. */
const unnoticed: Excuse[] = [];
let losesNotifications = false;
let isDelayed = true;
let changeNumber = 0;

/** Counts milliseconds in steps, so that a machine that stands still gets no older. */
const step = 50;
let now: Time = 0;
const clock = setInterval(() => {
  now += step;
}, step);

async function pass(milliseconds: Time): Promise<void> {
  const end = now + milliseconds;
  while (now < end) await sleep(Math.max(step, end - now));
}

function noticeAll(): void {
  for (const excuse of unnoticed.splice(0)) excuse.to = now;
}

beforeAll(async () => {
  if (!hasSharedCache) return;
  site = await startSite({
    now: () => now,
    delayInMilliseconds: () => (isDelayed ? delay.min + next() * (delay.max - delay.min) : 0),
    onNotification() {
      if (losesNotifications) return false;
      noticeAll();
      return true;
    },
    onResponse: (url, response, startedAt) => witness.hear(url, response(), startedAt, now),
  });
  nextUrl = zipf(await urlsOf(site.sql, next), next);
  // The functions of a site with so many visitors are warm, and so is its edge.
  const visitor = async () => {
    for (let visits = 0; visits < 60; visits++) await read(nextUrl());
  };
  await Promise.all(Array.from({ length: 8 }, visitor));
});

afterAll(async () => {
  clearInterval(clock);
  await site?.close();
});

const target = async (): Promise<Target> => await pick(site.sql, next, ++changeNumber);

async function read(url: string): Promise<ReadResponse> {
  const { status, text } = await site.cache.send(url, { headers: gzip });
  return { status, text: withoutRandom(text) };
}

/** Gives what excuses old responses, until a notification. */
async function make(change: Change, to: Target): Promise<Excuse | undefined> {
  if (change.isPanel) {
    await change.make(to, site);
    return undefined;
  }
  const excuse = witness.excuse({ from: now, to: Number.POSITIVE_INFINITY });
  await change.make(to, site);
  unnoticed.push(excuse);
  return excuse;
}

/** At least one URL of each kind that shows this. */
async function urlsAbout({ contributor, slug, publisher, publisherSlug, otherPublisher }: Target): Promise<string[]> {
  const shown = await site.sql<{ slug: string }[]>`
    (
      select slug
      from contributor_relations join contributors on contributors.id = contributor_id
      where relation_id = ${contributor} and public
      limit 2
    )
    union
    (select slug from contributors where not public or image is not null limit 5)
  `;
  return [
    ...[{ slug }, ...shown].map((each) => `/contributor/slug/${each.slug}`),
    `/contributor/works/${contributor}?client=1&limit=50`,
    `/contributors?client=1&search=alias%20${contributor}&limit=50`,
    `/contributors?client=1&order=added-asc&limit=50&offset=${Math.max(0, contributor - 25)}`,
    "/contributors?client=1&order=name-asc&limit=50",
    "/contributors?client=1&order=added-desc&limit=50",
    `/publisher/slug/${publisherSlug}`,
    `/publisher/publications/${publisher}?client=1&limit=999`,
    `/publisher/publications/${otherPublisher}?client=1&limit=999`,
    "/publishers?limit=50",
    "/publishers?order=added-desc&limit=50",
  ];
}

describe.skipIf(!hasSharedCache)("What the edge keeps", { timeout: 240_000 }, () => {
  it("is never older than 8 s, whatever breaks", async () => {
    const seconds = 36;
    const visits: Promise<void>[] = [];
    const failures: string[] = [];

    const visit = async (url: string) => {
      const askedAt = now;
      witness.hear(url, await site.ask(url), askedAt, now);
      await pass(bound + step);
      const sentAt = now;
      const response = await read(url);
      if (response.status >= 500) failures.push(`${url}: ${response.status}`);
      witness.read(url, response, sentAt, now);
    };

    /** Of a change, as soon as it should be known. */
    const visitNoticed = async (urls: readonly string[], excuse: Excuse | undefined) => {
      while (excuse && excuse.to > now) await pass(step);
      await Promise.all(urls.map(visit));
    };

    const readAll = async () => {
      for (let sent = 0; sent < seconds * readsPerSecond; await pass(step)) {
        for (; sent < Math.min(seconds, (now - startedAt) / 1_000) * readsPerSecond; sent++)
          visits.push(visit(nextUrl()));
      }
    };

    const changeAll = async () => {
      const names = Object.keys(changes);
      for (let made = 0; made < count; made++) {
        await pass(startedAt + (made * seconds * 1_000) / count - now);
        const name = names[(made + Math.floor(made / names.length)) % names.length] ?? "";
        const change = changes[name];
        if (!change) continue;
        const to = await target();
        const about = await urlsAbout(to);
        const two = [0, Math.floor(next() * about.length)].map((n) => `${about[n]}`);
        await Promise.all(two.map(read));
        const excuse = await make(change, to);
        visits.push(visitNoticed(two, excuse));
      }
      site.sweep();
      noticeAll();
    };

    /** Responses may be old until 8 s after its end, also those whose change came shortly before. */
    const fault = async (at: number, work: () => Promise<unknown>) => {
      await pass(startedAt + at * 1_000 - now);
      const excuse = witness.excuse({ from: now - bound, to: Number.POSITIVE_INFINITY });
      await work();
      excuse.to = now;
    };
    const refuse = async (failure: Site["cloudFront"]["failure"], milliseconds: Time) => {
      site.cloudFront.failure = failure;
      await pass(milliseconds);
      site.cloudFront.failure = undefined;
    };
    const swept = () => {
      site.sweep();
      noticeAll();
    };

    /** A read sees the database before a change, and responds after the change has been invalidated. */
    const slowReads: boolean[] = [];
    const readSlowly = async (at: number) => {
      await pass(startedAt + at * 1_000 - now);
      const { contributor, slug, number } = await target();
      const url = `/contributor/slug/${slug}`;
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const tag = `#contributor-${contributor}`;
      await site.cache.invalidate([tag]);
      site.hold({ slug, until: released, arrived: arrive });
      const reading = read(url);
      await arrived;
      // A public read waits for 7 s only.
      isDelayed = false;
      const seen = site.invalidated.length;
      const excuse = witness.excuse({ from: now, to: Number.POSITIVE_INFINITY, url });
      await site.panel("POST", `/admin-contributors/edit/${contributor}`, { gender: `slow ${number}` });
      excuse.to = now + boundOfSlowReads - bound;
      const isInvalidated = () => site.invalidated.slice(seen).some((item) => item === tag || item === "/*");
      while (!isInvalidated()) await sleep(step);
      isDelayed = true;
      release();
      const { text } = await reading;
      slowReads.push((await read(url)).text === text);
      for (let more = 0; more < 14; more++) {
        visits.push(visit(url));
        await pass(1_000);
      }
    };

    const startedAt = now;
    await Promise.all([
      readAll(),
      changeAll(),
      readSlowly(1),
      fault(4, () => refuse({ status: 503, code: "ServiceUnavailable" }, 3_000)),
      fault(9, async () => {
        losesNotifications = true;
        await pass(4_000);
        losesNotifications = false;
        swept();
      }),
      readSlowly(11),
      // Between what CloudFront accepts and what is written down about it, and before CloudFront is asked.
      ...[15, 21].map((at) =>
        fault(at, async () => {
          site.cloudFront.failure = at === 15 ? "lost" : "broken";
          await pass(600);
          await site.crash();
          site.cloudFront.failure = undefined;
          await pass(leaseInMilliseconds);
          swept();
        }),
      ),
      fault(28, () => refuse({ status: 400, code: "TooManyInvalidationsInProgress" }, 2_000)),
      readSlowly(23),
    ]);
    await Promise.all(visits);

    const late = witness.late();
    const oldest = late.toSorted((one, other) => other.milliseconds - one.milliseconds).slice(0, 5);
    expect(failures).toEqual([]);
    expect(oldest.filter(({ milliseconds }) => milliseconds > bound)).toEqual([]);
    // Otherwise the edge kept no response that took long.
    expect(slowReads).toContain(true);
  });
});
