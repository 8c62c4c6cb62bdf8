import { PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import sample from "../../../events/ops/invalidate-images.json" with { type: "json" };
import { imageBucket } from "../../../infra/local/stage/functions.ts";
import { type CloudFront, startCloudFront } from "../../support/cloudfront.ts";
import { values } from "../../support/database.ts";
import { s3Of } from "../../support/exports.ts";
import { notedKeys, pairOf, useUploads } from "../../support/uploads.ts";

const [distribution, imageDistribution] = ["E2QWRUHAPOMQZL", "E1IMAGESOFMINE"];
const budget = 200;

const timeouts = { longInMilliseconds: 60_000 };

let cloudFront: CloudFront;
/** What happens while CloudFront accepts an invalidation. */
let meanwhile: () => Promise<unknown>;
let lines: Record<string, unknown>[];
const stack = useUploads({
  timeouts,
  variables: () => ({
    API_DISTRIBUTION: distribution,
    IMAGE_DISTRIBUTION: imageDistribution,
    AWS_ENDPOINT_URL_CLOUDFRONT: cloudFront.url,
    INVALIDATIONS_A_DAY: String(budget),
  }),
});

beforeAll(async () => {
  cloudFront = await startCloudFront(() => meanwhile());
});

beforeEach(async () => {
  timeouts.longInMilliseconds = 60_000;
  meanwhile = async () => {};
  cloudFront.failure = undefined;
  cloudFront.requests.length = 0;
  await stack.sql`truncate stale_tags, invalidations, invalidation_lease`;
  lines = [];
  vi.spyOn(console, "log").mockImplementation((line) => void lines.push(JSON.parse(String(line))));
});

afterEach(() => vi.restoreAllMocks());

afterAll(() => cloudFront.close());

const invalidate = (payload: object = {}) => stack.lambda.invoke("ops-invalidate", payload);
const add = (...tags: string[]) => stack.sql`insert into stale_tags (tag) select * from unnest(${tags}::text[])`;
const spend = (paths: number, minutesAgo: number) =>
  stack.sql`
    insert into invalidations (day, paths, last_at)
    values (cast(now() at time zone 'utc' as date), ${paths}, now() - ${minutesAgo}::int * interval '1 minute')
  `;
const spent = () => values(stack.sql`select paths from invalidations`);
const left = () => values(stack.sql`select tag from stale_tags order by tag`);
const items = () => cloudFront.requests.map((request) => request.items);
/** Of the references one belongs to each invalidation, however often it is sent. */
const references = () => new Set(cloudFront.requests.map(({ reference }) => reference));

/** The two tags that several tests add, sorted, as CloudFront and the log have them. */
const both = ["#contributor-5", "#contributors"];

describe("ops-invalidate", () => {
  it("invalidates each tag once, when responses that were on their way have arrived", async () => {
    await add("contributors", "contributor-5");
    await add("contributor-5");
    const startedAt = performance.now();
    let waited = 0;
    meanwhile = async () => {
      waited = performance.now() - startedAt;
      expect(await left()).toEqual(["contributor-5", "contributor-5", "contributors"]);
    };

    expect(await invalidate()).toEqual({ result: { invalidated: both } });

    expect(waited).toBeGreaterThanOrEqual(990);
    const path = `POST /2020-05-31/distribution/${distribution}/invalidation`;
    expect(cloudFront.requests).toMatchObject([{ path, items: both }]);
    expect(await left()).toEqual([]);
    expect(await spent()).toEqual([2]);
    expect(lines).toMatchObject([{ endpoint: "ops-invalidate", requestId: expect.any(String), items: both }]);
  });

  it("calls nobody but the database, once, when nothing changed", async () => {
    expect(await invalidate()).toEqual({ result: { invalidated: [] } });

    expect(items()).toEqual([]);
    expect(stack.dataApi.calls).toHaveLength(1);
  });

  it("stays while there is work, and invalidates what was added, or committed, after it looked", async () => {
    await add("series");
    const commit = Promise.withResolvers<void>();
    const inserted = Promise.withResolvers<void>();
    const transaction = stack.sql.begin(async (sql) => {
      await sql`insert into stale_tags (tag) values ('contributor-7')`;
      inserted.resolve();
      await commit.promise;
    });
    await inserted.promise;
    meanwhile = async () => {
      meanwhile = async () => {};
      await add("series", "publishers");
      commit.resolve();
      await transaction;
    };

    await invalidate();

    expect(items()).toEqual([["#series"], ["#contributor-7", "#publishers", "#series"]]);
    expect(await left()).toEqual([]);
  });

  it("empties what was copied from another server, whose transactions have higher numbers", async () => {
    await add("publisher-7");
    await stack.sql`update stale_tags set transaction = '9000000000000000000'`;

    await invalidate();

    expect(items()).toEqual([["#publisher-7"]]);
    expect(await left()).toEqual([]);
  });

  it("runs once at a time: others leave the work to it, also what comes when it is about to end", async () => {
    await add("series");
    meanwhile = async () => {
      meanwhile = async () => {};
      await add("publishers");
      expect(await Promise.all([invalidate(), invalidate()])).toEqual(Array(2).fill({ result: { invalidated: [] } }));
    };

    expect(await invalidate()).toEqual({ result: { invalidated: ["#series", "#publishers"] } });

    // A request that took long is sent again by the same reference.
    expect([...new Set(items().map(String))]).toEqual(["#series", "#publishers"]);
    expect(references().size).toBe(2);
    expect(await left()).toEqual([]);
    expect((await stack.sql`select until = '-infinity' as is_free from invalidation_lease`)[0]?.is_free).toBe(true);
  });

  it("repeats an invalidation that was not written down, since the run broke off", async () => {
    await add("series");
    stack.dataApi.intercept(({ sql }) =>
      sql?.includes("delete from stale_tags") ? { kind: "error", status: 400, type: "ForbiddenException" } : undefined,
    );
    expect(await invalidate()).toMatchObject({ error: { errorType: "ForbiddenException" } });
    stack.dataApi.intercept(undefined);
    await stack.sql`update invalidation_lease set until = now()`;

    await invalidate();

    expect(items()).toEqual([["#series"], ["#series"]]);
    expect(references().size).toBe(2);
    expect(await left()).toEqual([]);
  });

  it.each([
    { how: "refuses", failure: { status: 400, code: "TooManyInvalidationsInProgress" } },
    { how: "loses its response", failure: "lost" as const },
  ])(
    "tries again by the same reference while CloudFront $how, and keeps the tags until it accepts",
    async ({ failure }) => {
      await add("series");
      cloudFront.failure = failure;
      const run = invalidate();
      // Longer than one attempt of the run.
      await expect.poll(() => cloudFront.requests.length, { timeout: 20_000 }).toBeGreaterThan(6);
      await add("publishers");
      expect(await left()).toHaveLength(2);
      cloudFront.failure = undefined;

      expect(await run).toEqual({ result: { invalidated: ["#series", "#publishers"] } });

      // What came meanwhile is another invalidation: by the reference the first one is not paid for twice.
      expect([...new Set(items().map(String))]).toEqual(["#series", "#publishers"]);
      expect(references().size).toBe(2);
      expect(await left()).toEqual([]);
    },
    40_000,
  );

  it.each([
    {
      what: "accepts nothing while it runs",
      failure: { status: 400, code: "TooManyInvalidationsInProgress" },
      errorType: "Unavailable",
    },
    { what: "denies access, at once", failure: { status: 403, code: "AccessDenied" }, errorType: "AccessDenied" },
  ])("fails, and keeps the tags, when CloudFront $what", async ({ failure, errorType }) => {
    // Of these 6 s are reserved.
    timeouts.longInMilliseconds = 12_000;
    await add("series");
    cloudFront.failure = failure;

    expect(await invalidate()).toMatchObject({ error: { errorType } });

    expect(cloudFront.requests.length === 1).toBe(errorType === "AccessDenied");
    expect(await left()).toEqual(["series"]);
    expect(await spent()).toEqual([]);
  });

  const numbered = (count: number) => Array.from({ length: count }, (_, index) => `contributor-${index + 1}`);

  it.each([
    { what: "50 tags one by one", tags: numbered(50), paths: 50 },
    { what: "more than 50 tags as everything", tags: numbered(51), paths: 1 },
    {
      what: "everything when a transaction changed too much for single tags",
      tags: ["everything", "series"],
      paths: 1,
    },
  ])("invalidates $what, and counts the paths of a day", async ({ tags, paths }) => {
    await spend(100, 5);
    await add(...tags);

    await invalidate();

    expect(items()).toEqual([paths === 1 ? ["/*"] : tags.map((tag) => `#${tag}`).sort()]);
    expect(await left()).toEqual([]);
    expect(await spent()).toEqual([100 + paths]);
  });
});

describe("ops-invalidate beyond its budget", () => {
  it("gathers new tags until the last invalidation is ten minutes old, and warns", async () => {
    await spend(budget, 9);
    await add("series");

    expect(await invalidate()).toEqual({ result: { invalidated: [] } });
    await stack.sql`update invalidations set last_at = last_at - interval '2 minutes'`;
    expect(await invalidate()).toEqual({ result: { invalidated: ["/*"] } });

    expect(items()).toEqual([["/*"]]);
    expect(await left()).toEqual([]);
    expect(await spent()).toEqual([budget + 1]);
    expect(lines).toMatchObject([
      { level: "warn", isOverBudget: true, pathsToday: budget, isWaiting: true },
      { level: "warn", isOverBudget: true, items: ["/*"] },
    ]);
  });
});

describe("ops-invalidate for an operator", () => {
  it("invalidates tags once, whatever the budget and without the database", async () => {
    await spend(budget, 1);
    await add("publishers");

    const tags = ["contributor-5", "contributors", "contributor-5"];
    expect(await invalidate({ tags })).toEqual({ result: { invalidated: both } });

    expect(items()).toEqual([both]);
    expect(lines).toMatchObject([{ items: both }]);
    expect(stack.dataApi.calls).toEqual([]);
    expect(await left()).toHaveLength(1);
  });

  it.each([
    { what: "an unknown field", payload: { tag: ["series"] }, message: 'Unrecognized key: "tag"' },
    {
      what: "unknown fields beside a known one",
      payload: { everything: true, all: 1, paths: [] },
      message: 'Unrecognized keys: "all", "paths"',
    },
    { what: "no tag", payload: { tags: [] }, message: "tags: " },
    { what: "a tag of no record", payload: { tags: ["series", "contributor-0"] }, message: "tags.1: " },
  ])("refuses $what and invalidates nothing", async ({ payload, message }) => {
    await add("series");

    expect(await invalidate(payload)).toMatchObject({
      error: { errorType: "Refusal", errorMessage: expect.stringContaining(`Invalid payload: ${message}`) },
    });

    expect(items()).toEqual([]);
    expect(stack.dataApi.calls).toEqual([]);
  });
});

describe("ops-invalidate-images", () => {
  const messageOf = (messageId: string, body: string) => ({ messageId, body });
  const removed = (messageId: string, name: string) =>
    messageOf(messageId, JSON.stringify({ detail: { object: { key: name } } }));
  const bring = (...Records: object[]) => stack.lambda.invoke("ops-invalidate-images", { Records });
  const done = { result: { batchItemFailures: [] } };

  it("invalidates the path of the removed object, encoded as by browsers, stars, too, and no other", async () => {
    expect(await stack.lambda.invoke("ops-invalidate-images", sample)).toEqual(done);
    await bring(removed("encoded", "avatars/a b&é*"));

    const path = `POST /2020-05-31/distribution/${imageDistribution}/invalidation`;
    expect(cloudFront.requests).toMatchObject([
      { path, items: ["/avatars/3f1c2f4e-7a55-4a53-9d0e-4d7c9a2b6c11.webp"] },
      { path, items: ["/avatars/a%20b%26%C3%A9%2A"] },
    ]);
  });

  it("invalidates both folders when more than fifty images are removed, since each path is paid for", async () => {
    const paths = (count: number) =>
      Array.from({ length: count }, (_, n) => removed(`m${n}`, `${n % 2 ? "profiles" : "avatars"}/${n}.webp`));
    await bring(...paths(100));
    await bring(...paths(101));

    expect(items().map(({ length }) => length)).toEqual([100, 2]);
    expect(items()[1]).toEqual(["/avatars/*", "/profiles/*"]);
  });

  it("sends the same CallerReference for the same messages, also when the connection is lost, and another for others", async () => {
    const [one, two] = [removed("one", "avatars/a.webp"), removed("two", "avatars/a.webp")];
    cloudFront.failure = "lost";
    meanwhile = async () => {
      cloudFront.failure = undefined;
    };

    for (const each of [[one, two], [two, one], [one]]) expect(await bring(...each)).toEqual(done);

    expect(items()).toEqual(Array(4).fill(["/avatars/a.webp"]));
    expect(references().size).toBe(2);
  });

  it.each([
    { code: "TooManyInvalidationsInProgress", status: 400, errorType: "Unavailable" },
    { code: "AccessDenied", status: 403, errorType: "AccessDenied" },
  ])("fails for the queue to bring all again when CloudFront returns $code", async ({ code, status, errorType }) => {
    timeouts.longInMilliseconds = 7_000;
    cloudFront.failure = { status, code };

    expect(await bring(removed("one", "avatars/a.webp"))).toMatchObject({ error: { errorType } });

    cloudFront.failure = undefined;
    expect(await bring(removed("one", "avatars/a.webp"))).toEqual(done);
  });

  it.each(["no JSON", "null", '{"detail":{"object":{}}}', '{"detail":{"object":{"key":""}}}'])(
    "gives back a message that says %s, and does what the others say",
    async (body) => {
      expect(await bring(messageOf("odd", body), removed("one", "avatars/a.webp"))).toEqual({
        result: { batchItemFailures: [{ itemIdentifier: "odd" }] },
      });
      expect(items()).toEqual([["/avatars/a.webp"]]);
    },
  );
});

describe("ops-remove-images", () => {
  beforeEach(async () => {
    await stack.sql`update images_to_remove set remove_after = now()`;
    await stack.sweep();
    stack.dataApi.calls.length = 0;
    stack.s3.requests.length = 0;
  });

  async function put(name: string): Promise<void> {
    for (const Key of pairOf(name))
      await s3Of(stack).send(new PutObjectCommand({ Bucket: imageBucket, Key, Body: "an image" }));
  }

  const listForRemoval = (key: string, minutes = -1) =>
    stack.sql`
      insert into images_to_remove (key, remove_after)
      values (${key}, now() + make_interval(mins => ${minutes}))
    `;

  it("removes images that are due, in both sizes, and keeps the others", async () => {
    for (const key of ["avatars/due.webp", "profiles/due.webp", "avatars/later.webp"]) await put(key);
    await listForRemoval("avatars/due.webp");
    await listForRemoval("profiles/due.webp");
    await listForRemoval("avatars/later.webp", 30);

    expect(await stack.sweep()).toEqual({ removed: 2, kept: 1 });

    expect(await stack.keys()).toEqual(pairOf("avatars/later.webp").toSorted());
    expect(await notedKeys(stack)).toEqual(["avatars/later.webp"]);
  });

  it("does nothing, in two statements and without S3, when there is nothing to do", async () => {
    expect(await stack.sweep()).toEqual({ removed: 0, kept: 0 });

    expect(stack.dataApi.calls).toHaveLength(2);
    expect(stack.s3.requests).toEqual([]);
  });

  it("may run twice at once", async () => {
    for (let number = 0; number < 20; number++) {
      await put(`avatars/${number}.webp`);
      await listForRemoval(`avatars/${number}.webp`);
    }

    const [one, other] = await Promise.all([stack.sweep(), stack.sweep()]);

    expect(one.removed + other.removed).toBe(20);
    await expect(stack.object("avatars/7.webp")).rejects.toThrow("The specified key does not exist.");
    expect(await notedKeys(stack)).toEqual([]);
  });

  it("keeps images listed and fails when S3 fails", async () => {
    await put("avatars/due.webp");
    await listForRemoval("avatars/due.webp");
    stack.s3.intercept(() => "refuse-before");

    await expect(stack.sweep()).rejects.toThrow();
    stack.s3.intercept(undefined);

    expect(await notedKeys(stack)).toEqual(["avatars/due.webp"]);
    expect(await stack.sweep()).toEqual({ removed: 1, kept: 0 });
  });

  it("goes through any number in batches, written or not, and keeps those listed that S3 does not delete", async () => {
    await stack.sql`
      insert into images_to_remove (key) select 'avatars/' || 1000 + number || '.webp' from generate_series(1, 600) as number
    `;
    const error = "<Error><Key>avatars/1007-256.webp</Key><Code>AccessDenied</Code></Error>";
    stack.s3.intercept(() =>
      stack.s3.requests.length === 1 ? { xml: `<DeleteResult>${error}</DeleteResult>` } : undefined,
    );

    expect(await stack.sweep()).toEqual({ removed: 599, kept: 1 });
    expect(stack.s3.requests).toHaveLength(2);
    expect(await notedKeys(stack)).toEqual(["avatars/1007.webp"]);
    stack.s3.intercept(undefined);
    expect(await stack.sweep()).toEqual({ removed: 1, kept: 0 });
  });
});
