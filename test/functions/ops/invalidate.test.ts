import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type CloudFront, startCloudFront } from "../../support/cloudfront.ts";
import { type Stack, startStack } from "../../support/stack.ts";

const distribution = "E2QWRUHAPOMQZL";
const budget = 200;

/** With so little time (5 s are reserved) a run does not stay for the second round. */
const timeouts = { longInMilliseconds: 12_000 };

let cloudFront: CloudFront;
/** What happens while CloudFront accepts an invalidation. */
let meanwhile: () => Promise<unknown>;
let stack: Stack;
let lines: Record<string, unknown>[];

beforeAll(async () => {
  cloudFront = await startCloudFront(() => meanwhile());
  stack = await startStack({
    timeouts,
    variables: () => ({
      API_DISTRIBUTION: distribution,
      AWS_ENDPOINT_URL_CLOUDFRONT: cloudFront.url,
      INVALIDATIONS_A_DAY: String(budget),
    }),
  });
});

beforeEach(async () => {
  timeouts.longInMilliseconds = 12_000;
  meanwhile = async () => {};
  cloudFront.failure = undefined;
  cloudFront.requests.length = 0;
  stack.dataApi.calls.length = 0;
  await stack.sql`truncate stale_tags, invalidations`;
  lines = [];
  vi.spyOn(console, "log").mockImplementation((line) => void lines.push(JSON.parse(String(line))));
});

afterEach(() => vi.restoreAllMocks());

afterAll(async () => {
  await stack?.close();
  await cloudFront?.close();
});

const invalidate = (payload: object = {}) => stack.lambda.invoke("ops-invalidate", payload);
const add = (...tags: string[]) => stack.sql`insert into stale_tags (tag) select * from unnest(${tags}::text[])`;
/** Adds tags as if they had been invalidated for the first time so long ago. */
const addInvalidated = (seconds: number, ...tags: string[]) =>
  stack.sql`
    insert into stale_tags (tag, invalidated_at)
    select tag, now() - ${seconds}::int * interval '1 second'
    from unnest(${tags}::text[]) as tag
  `;
const spend = (paths: number, minutesAgo: number) =>
  stack.sql`
    insert into invalidations (day, paths, last_at)
    values (cast(now() at time zone 'utc' as date), ${paths}, now() - ${minutesAgo}::int * interval '1 minute')
  `;
const spent = async () => (await stack.sql`select paths from invalidations`).map(({ paths }) => paths);
const left = () => stack.sql`select tag, invalidated_at is not null as marked from stale_tags order by tag`;
const items = () => cloudFront.requests.map((request) => request.items);
const references = () => cloudFront.requests.map(({ reference }) => reference);

describe("ops-invalidate", () => {
  it("invalidates the tags of what changed at once, and again when answers that were on their way have arrived", async () => {
    timeouts.longInMilliseconds = 60_000;
    const marks: unknown[] = [];
    await add("contributors", "contributor-5");
    await add("contributor-5");
    meanwhile = async () => void marks.push(await left());

    expect(await invalidate()).toEqual({ result: { invalidated: ["#contributor-5", "#contributors"] } });

    expect(items()).toEqual(Array(2).fill(["#contributor-5", "#contributors"]));
    expect(cloudFront.requests[0]).toMatchObject({
      path: `POST /2020-05-31/distribution/${distribution}/invalidation`,
      authorization: expect.stringContaining("/cloudfront/aws4_request"),
    });
    const [first, second] = references();
    expect(first).not.toBe(second);
    const tags = ["contributor-5", "contributor-5", "contributors"];
    expect(marks).toEqual([false, true].map((marked) => tags.map((tag) => ({ tag, marked }))));
    expect(await left()).toEqual([]);
    expect(await spent()).toEqual([4]);
    expect(lines).toMatchObject([
      { endpoint: "ops-invalidate", requestId: expect.any(String), fresh: ["contributor-5", "contributors"], due: [] },
      { fresh: [], due: ["contributor-5", "contributors"], milliseconds: expect.any(Number) },
    ]);
  });

  it("calls nobody but the database, once, when nothing changed", async () => {
    expect(await invalidate()).toEqual({ result: { invalidated: [] } });

    expect(items()).toEqual([]);
    expect(stack.dataApi.calls).toHaveLength(1);
  });

  it("keeps tags that were added, or committed, after it read", async () => {
    await addInvalidated(9, "series");
    let commit = () => {};
    const committed = new Promise<void>((resolve) => {
      commit = resolve;
    });
    const inserted = Promise.withResolvers<void>();
    const transaction = stack.sql.begin(async (sql) => {
      await sql`insert into stale_tags (tag) values ('contributor-7')`;
      inserted.resolve();
      await committed;
    });
    await inserted.promise;
    meanwhile = async () => {
      await add("series", "publishers");
      commit();
      await transaction;
    };

    await invalidate();

    expect(items()).toEqual([["#series"]]);
    expect(await left()).toEqual(["contributor-7", "publishers", "series"].map((tag) => ({ tag, marked: false })));
  });

  it("empties what was copied from another server, whose transactions have higher numbers", async () => {
    await addInvalidated(9, "series");
    await add("publisher-7");
    await stack.sql`update stale_tags set transaction = '9000000000000000000'`;

    await invalidate();

    expect(items()).toEqual([["#publisher-7", "#series"]]);
    expect(await left()).toEqual([{ tag: "publisher-7", marked: true }]);
  });

  it("joins the second round of tags that a run left behind with the first one of new tags", async () => {
    await addInvalidated(9, "series");
    await add("publisher-7");

    await invalidate();

    expect(items()).toEqual([["#publisher-7", "#series"]]);
    expect(await left()).toEqual([{ tag: "publisher-7", marked: true }]);
  });

  it("stays for tags that another run has invalidated, and does not repeat them early", async () => {
    timeouts.longInMilliseconds = 60_000;
    await addInvalidated(6, "series");

    await invalidate();

    expect(items()).toEqual([["#series"]]);
  });

  it("repeats an invalidation that was not marked, since the run broke off", async () => {
    await addInvalidated(9, "series");
    stack.dataApi.intercept(({ sql }) =>
      sql?.includes("delete from stale_tags") ? { kind: "error", status: 400, type: "ForbiddenException" } : undefined,
    );
    expect(await invalidate()).toMatchObject({ error: { errorType: "ForbiddenException" } });
    stack.dataApi.intercept(undefined);

    await invalidate();

    expect(items()).toEqual([["#series"], ["#series"]]);
    expect(new Set(references()).size).toBe(2);
    expect(await left()).toEqual([]);
  });

  it("may invalidate twice, and loses nothing, when two run at once", async () => {
    await addInvalidated(9, "series");
    const first = Promise.withResolvers<void>();
    meanwhile = async () => {
      meanwhile = async () => first.resolve();
      // Both have read when the first one is accepted.
      await first.promise;
    };

    expect(await Promise.all([invalidate(), invalidate()])).toEqual(
      Array(2).fill({ result: { invalidated: ["#series"] } }),
    );

    expect(await left()).toEqual([]);
  });

  it.each([
    { status: 400, code: "TooManyInvalidationsInProgress" },
    { status: 400, code: "Throttling" },
    { status: 503, code: "ServiceUnavailable" },
    "broken" as const,
    "lost" as const,
  ])(
    "tries again by the same reference when CloudFront fails (%j), and keeps the tags until it accepts",
    async (failure) => {
      await addInvalidated(9, "series");
      cloudFront.failure = failure;
      const run = invalidate();
      await expect.poll(() => cloudFront.requests.length).toBeGreaterThan(1);
      expect(await left()).toHaveLength(1);
      cloudFront.failure = undefined;

      expect(await run).toEqual({ result: { invalidated: ["#series"] } });

      expect(new Set(references()).size).toBe(1);
      expect(await left()).toEqual([]);
    },
  );

  it("fails, and keeps the tags, when CloudFront accepts nothing while it runs", async () => {
    timeouts.longInMilliseconds = 8_500;
    await add("series");
    cloudFront.failure = { status: 400, code: "TooManyInvalidationsInProgress" };

    expect(await invalidate()).toMatchObject({
      error: { errorType: "Unavailable", errorMessage: expect.stringContaining("TooManyInvalidationsInProgress") },
    });

    expect(await left()).toEqual([{ tag: "series", marked: false }]);
    expect(await spent()).toEqual([]);
  });

  it.each(["AccessDenied", "NoSuchDistribution"])("fails at once when CloudFront answers %s", async (code) => {
    await add("series");
    cloudFront.failure = { status: code === "AccessDenied" ? 403 : 404, code };

    expect(await invalidate()).toMatchObject({ error: { errorType: code } });

    expect(cloudFront.requests).toHaveLength(1);
    expect(await left()).toEqual([{ tag: "series", marked: false }]);
  });

  it.each([
    ["50 tags one by one", 50, undefined],
    ["more than 50 tags as everything", 51, ["/*"]],
  ])("invalidates %s", async (_, count, expected) => {
    await add(...Array.from({ length: count }, (_, index) => `contributor-${index + 1}`));

    await invalidate();

    expect(items()).toEqual([expected ?? expect.toSatisfy(({ length }) => length === count)]);
    expect(await left()).toHaveLength(count);
    expect(await left()).not.toContainEqual(expect.objectContaining({ marked: false }));
  });

  it("invalidates everything when a transaction changed too much for single tags", async () => {
    await add("everything");
    await add("series");

    await invalidate();

    expect(items()).toEqual([["/*"]]);
  });

  it("counts the paths of a day", async () => {
    await spend(100, 5);
    await add("contributors", "contributor-5");

    await invalidate();

    expect(await spent()).toEqual([102]);
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
    expect(await left()).toEqual([{ tag: "series", marked: true }]);
    expect(await spent()).toEqual([budget + 1]);
    expect(lines).toMatchObject([
      { level: "warn", isOverBudget: true, pathsToday: budget, waiting: ["series"] },
      { level: "warn", isOverBudget: true, fresh: ["series"], items: ["/*"] },
    ]);
  });

  it("repeats what is due, without taking new tags along", async () => {
    await spend(budget, 1);
    await addInvalidated(9, "publishers");
    await add("series");

    await invalidate();

    expect(items()).toEqual([["/*"]]);
    expect(await left()).toEqual([{ tag: "series", marked: false }]);
  });
});

describe("ops-invalidate for an operator", () => {
  it("invalidates tags at once, and again 8 s later, whatever the budget and without the database", async () => {
    timeouts.longInMilliseconds = 60_000;
    await spend(budget, 1);
    await add("publishers");

    expect(await invalidate({ tags: ["contributor-5", "contributors", "contributor-5"] })).toEqual({
      result: { invalidated: ["#contributor-5", "#contributors"] },
    });

    expect(items()).toEqual(Array(2).fill(["#contributor-5", "#contributors"]));
    expect(lines).toMatchObject([1, 2].map((round) => ({ round, items: ["#contributor-5", "#contributors"] })));
    expect(stack.dataApi.calls).toEqual([]);
    expect(await left()).toHaveLength(1);
  });

  it.each([
    [{ tag: ["series"] }, "tag: unknown"],
    [{ everything: true, all: 1, paths: [] }, "all, paths: unknown"],
    [{ everything: false }, "everything: "],
    [{ tags: [] }, "tags: "],
    [{ tags: "series" }, "tags: "],
    [{ tags: ["series", "contributor-0"] }, "tags.1: "],
    [{ tags: ["#series"] }, "tags.0: "],
    [{ tags: ["contributor-*"] }, "tags.0: "],
    [{ tags: ["series,publishers"] }, "tags.0: "],
  ])("refuses %j and invalidates nothing", async (payload, message) => {
    await add("series");

    expect(await invalidate(payload)).toMatchObject({
      error: { errorType: "Refusal", errorMessage: expect.stringContaining(`Invalid payload: ${message}`) },
    });

    expect(items()).toEqual([]);
    expect(stack.dataApi.calls).toEqual([]);
  });
});
