import { beforeEach, describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { envelope } from "../support/envelope.ts";
import { tinyImage } from "../support/pictures.ts";
import { broken } from "../support/unchanged.ts";
import { expectAgreement, imageOf, pairOf, useUploads } from "../support/uploads.ts";

/* Whatever breaks while an image is updated or removed, records and bucket agree. */

const waitInMilliseconds = 4_000;
// A function keeps 5 s of its time for itself.
const stack = useUploads({ timeouts: { bufferedInMilliseconds: waitInMilliseconds + 5_000 } });
const administrator = useAdministrator(stack);
let contributor: { id: number };
let before: string | null;

beforeEach(async () => {
  contributor = await aContributor(stack.sql);
  await update();
  before = await imageOf(stack, "contributors", contributor);
  stack.dataApi.calls.length = 0;
  stack.s3.requests.length = 0;
});

function passAll(): void {
  stack.dataApi.intercept(undefined);
  stack.s3.intercept(undefined);
}

const call = (action: string, body?: unknown) =>
  administrator.call(`admin-contributors/${action}`, { path: { id: contributor.id }, body });
const remove = () => call("delete-avatar");
const update = () => call("update-avatar", { image: tinyImage });

/** Where the process is killed: at a statement, or at a request to S3. */
type Step = "statement 1" | "statement 2" | "PUT 1" | "PUT 2" | "POST 1";
type Time = "before" | "after";

/** Breaks the connection at a step. The killed process does nothing more, so all later requests are refused. */
async function killedAt<Result>(step: Step, time: Time, work: () => Promise<Result>): Promise<Result> {
  const requested: Record<string, Set<string>> = {};
  let isDead = false;
  const decide = (kind: string, what: string) => {
    requested[kind] ??= new Set();
    requested[kind].add(what);
    if (isDead) return "refuse";
    isDead = `${kind} ${[...requested[kind]].indexOf(what) + 1}` === step;
    return isDead ? "drop" : "pass";
  };
  stack.dataApi.intercept(({ sql = "" }) => {
    const dropped = { kind: time === "before" ? "drop-before" : "cut-body" } as const;
    return { refuse: broken, drop: dropped, pass: undefined }[decide("statement", sql)];
  });
  stack.s3.intercept((request) => {
    const faults = { refuse: "refuse-before", drop: `drop-${time}`, pass: undefined } as const;
    return faults[decide(request.split(" ")[0] ?? "", request)];
  });
  return await work().finally(passAll);
}

/** Complete at any moment, even before the next removal: both objects of the current image. */
async function expectComplete(): Promise<string | null> {
  const key = await imageOf(stack, "contributors", contributor);
  expect(await stack.keys()).toEqual(expect.arrayContaining(pairOf(key)));
  return key;
}

const kills = (...steps: readonly Step[]) =>
  steps.flatMap((step) => (["before", "after"] as const).map((time) => ({ time, step })));

describe("Records and bucket agree", () => {
  it.each(kills("statement 1", "PUT 1", "PUT 2", "statement 2", "POST 1"))(
    "when an update is killed $time $step",
    async ({ time, step }) => {
      const { status } = await killedAt(step, time, update);

      // An object that cannot be removed now is listed, so the change succeeds.
      expect(status).toBe(step === "POST 1" ? 200 : 500);
      const isSwapped = step === "POST 1" || (step === "statement 2" && time === "after");
      expect((await expectComplete()) !== before).toBe(isSwapped);
      await stack.sweep();
      expect((await expectComplete()) !== before).toBe(isSwapped);
      await expectAgreement(stack);
      expect((await update()).status).toBe(200);
    },
  );

  it.each(kills("statement 1", "POST 1"))("when a removal is killed $time $step", async ({ time, step }) => {
    const { status } = await killedAt(step, time, remove);

    expect(status).toBe(step === "POST 1" ? 200 : 500);
    expect(await expectComplete()).toBe(step === "POST 1" || time === "after" ? null : before);
    await expectAgreement(stack);
  });

  it.each(kills("statement 1", "POST 1", "statement 2"))(
    "when the scheduled removal is killed $time $step",
    async ({ time, step }) => {
      await stack.sql`update contributors set image = null where id = ${contributor.id}`;

      await killedAt(step, time, () => stack.sweep()).catch(() => undefined);

      await expectAgreement(stack);
    },
  );

  it.each([
    { what: "is about to fall due", change: "update images_to_remove set remove_after = now() + interval '4 minutes'" },
    { what: "has left the list", change: "delete from images_to_remove" },
  ])("when the new image of an update $what: it fails, and loses nothing", async ({ change }) => {
    stack.s3.intercept(async (request) => {
      await stack.sql.query(`${change} where remove_after > now()`);
      // Not even when what it has written can only be removed later.
      return request.startsWith("POST") ? "error-before" : undefined;
    });

    const { status } = await update();
    passAll();

    expect(status).toBe(500);
    expect(await expectComplete()).toBe(before);
    await expectAgreement(stack);
  });
});

describe("POST /admin-contributors/update-avatar/{id} while a service does not respond", () => {
  const notDone = envelope(503, "Service unavailable, nothing was changed");
  const unknown = envelope(503, "Service unavailable, try again in a few seconds");

  /** Fails at its second statement, the one that makes the record refer to the new image. */
  const failAtSwap = (kind: "503" | "cut-body") =>
    stack.dataApi.intercept(({ sql }) => (sql === stack.dataApi.calls[0]?.sql ? undefined : { kind }));

  function failByTurns(): void {
    stack.s3.intercept(() => (stack.s3.requests.length < 12 ? "error-before" : undefined));
    failAtSwap("503");
  }

  it.each([
    { what: "the database", unavailable: unknown, fail: () => stack.dataApi.intercept(() => ({ kind: "503" })) },
    { what: "the database after the first statement", unavailable: unknown, fail: () => failAtSwap("503") },
    { what: "S3", unavailable: notDone, fail: () => stack.s3.intercept(() => "error-before") },
    { what: "S3, silently", unavailable: notDone, fail: () => stack.s3.intercept(() => new Promise(() => {})) },
    { what: "both by turns", unavailable: unknown, fail: failByTurns },
  ])("returns 503 with Retry-After once for all its calls: $what", async ({ unavailable, fail }) => {
    fail();
    const start = Date.now();

    const { body, headers } = await update();

    passAll();
    expect([body, headers.get("retry-after")]).toEqual([unavailable, "5"]);
    expect(Date.now() - start).toBeLessThan(waitInMilliseconds + 4_000);
    expect(await expectComplete()).toBe(before);
    await expectAgreement(stack);
  });

  it("leaves the old or the new image complete when it is unknown whether the record has the new one", async () => {
    failAtSwap("cut-body");

    expect((await update()).body).toEqual(unknown);

    passAll();
    await expectComplete();
    await expectAgreement(stack);
  });
});
