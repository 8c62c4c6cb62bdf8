import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, it } from "vitest";
import { pick, urlsOf, zipf } from "../edge/replay/catalogue.ts";
import { changes, type Target } from "../edge/replay/changes.ts";
import { type Site, startSite } from "../edge/replay/site.ts";
import { numbers, seed } from "../support/seed.ts";

/** 100 M requests a month. */
const readsPerSecond = 38;
const changesPerDay = 200;
const readsBetweenChanges = Math.round((readsPerSecond * 86_400) / changesPerDay);

/**
 * One for each sixth of all kinds: a third change lists of contributors, a third lists and works by series, a sixth only
 * a record, a sixth publishers.
 */
const ofADay = [
  "first_name",
  "added_aliases",
  "added_descriptions",
  "update publishers",
  "update series set",
  "update volumes",
];

/** How long CloudFront takes for an invalidation: AWS says 5 s for 95 of 100. */
const delay = { min: 300, max: 3_500 };

const next = numbers(seed);
const gzip = { "Accept-Encoding": "gzip" };
const pause = 50;

let site: Site;
let isDelayed = false;
let changeNumber = 0;

beforeAll(async () => {
  site = await startSite({
    now: () => performance.now(),
    delayInMilliseconds: () => (isDelayed ? delay.min + next() * (delay.max - delay.min) : 0),
    onNotification: () => true,
    onResponse: () => {},
  });
});

beforeEach(() => site.quiet());

afterAll(() => site?.close());

const target = async (): Promise<Target> => await pick(site.sql, next, ++changeNumber);

it("measures the share of the reads of a day with 200 changes that miss the cache", async ({ task }) => {
  const nextUrl = zipf(await urlsOf(site.sql, next), next);
  /**
   * As fast as this machine can. A response to HEAD comes from the copy of one to GET. Two reads of a URL tell what more
   * would: if the second one missed, so would each.
   */
  const readMany = async (): Promise<number> => {
    const readsOf = Map.groupBy(Array.from({ length: readsBetweenChanges }, nextUrl), (url) => url);
    const urls = readsOf.entries();
    let missed = 0;
    const misses = async (url: string) =>
      (await site.cache.send(url, { method: "HEAD", headers: gzip })).cache === "HIT" ? 0 : 1;
    const visitor = async () => {
      for (const [url, { length }] of urls) {
        missed += await misses(url);
        if (length > 1) missed += (length - 1) * (await misses(url));
      }
    };
    await Promise.all(Array.from({ length: 32 }, visitor));
    return missed;
  };
  const invalidateAll = async () => {
    site.sweep();
    while ((await site.sql`select from stale_tags limit 1`).length > 0) await sleep(pause);
    await site.quiet();
  };

  await readMany();
  let missed = 0;
  for (const part of ofADay) {
    const [, change] = Object.entries(changes).find(([name]) => name.includes(part)) ?? [];
    if (!change) throw new Error(`There is no change ${part}`);
    await change.make(await target(), site);
    await invalidateAll();
    missed += await readMany();
  }

  const value = (100 * missed) / (ofADay.length * readsBetweenChanges);
  task.meta.rows = [{ what: "Reads of a day that miss the cache", value, unit: "%", bound: 1 }];
});

it.for([
  { edits: 4, rhythm: "one after the other", meanPause: 0 },
  { edits: 20, rhythm: "at 100 a minute", meanPause: 600 },
])("measures paths and time of $edits edits $rhythm", async ({ edits, rhythm, meanPause }, { task }) => {
  isDelayed = true;
  const requests = site.cloudFront.requests.length;
  const delays: Promise<number>[] = [];
  const delayOf = async (tag: string, seen: number, madeAt: number) => {
    while (!site.invalidated.slice(seen).some((item) => item === tag || item === "/*")) await sleep(pause);
    return performance.now() - madeAt;
  };
  for (let made = 0; made < edits; made++) {
    const { contributor, number } = await target();
    await site.panel("POST", `/admin-contributors/edit/${contributor}`, { gender: `edit ${number}` });
    delays.push(delayOf(`#contributor-${contributor}`, site.invalidated.length, performance.now()));
    // As people come: by chance.
    if (meanPause > 0) await sleep(-Math.log(1 - next()) * meanPause);
    else await delays.at(-1);
  }

  const all = (await Promise.all(delays)).sort((one, other) => one - other);
  const paths = site.cloudFront.requests
    .slice(requests)
    .filter(({ accepted }) => accepted)
    .reduce((sum, { items }) => sum + items.length, 0);
  const within = (share: number) => all[Math.ceil(share * all.length) - 1] ?? Number.NaN;
  task.meta.rows = [
    { what: `Edits ${rhythm}: invalidated paths an edit`, value: paths / edits, unit: "", bound: 3 },
    { what: `Edits ${rhythm}: until 95 % are seen`, value: within(0.95), unit: "ms", bound: 5_000 },
    { what: `Edits ${rhythm}: until all are seen`, value: within(1), unit: "ms", bound: 8_000 },
  ];
});
