import { beforeEach, describe, expect, it } from "vitest";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { envelope } from "../support/envelope.ts";
import { aUser } from "../support/people.ts";
import { dataUrl, plain, tinyImage } from "../support/pictures.ts";
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
  return passAll;
});

function passAll(): void {
  stack.dataApi.intercept(undefined);
  stack.s3.intercept(undefined);
}

const call = (name: string, id = contributor.id, body?: unknown) =>
  stack.call(name, { as: administrator.token, path: { id }, body });
const remove = () => call("admin-contributors/delete-avatar");
let shade = 0x100000;
async function update(id = contributor.id) {
  const picture = await plain(`#${(++shade).toString(16)}`)
    .png()
    .toBuffer();
  return await call("admin-contributors/update-avatar", id, { image: dataUrl(picture) });
}

/** Where something can go wrong: the statements, and the requests to S3. */
type Step = "statement 1" | "statement 2" | "PUT 1" | "PUT 2" | "POST 1";
type Time = "before" | "after";
type Fate = "is refused" | "fails for a while" | "breaks" | "kills the process";

/** The faults of the Data API, and those of S3. */
const faults = {
  refuse: { before: broken, after: { ...broken, kind: "error-after" } },
  error: {
    before: { kind: "503" },
    after: { kind: "error-after", status: 500, type: "InternalServerErrorException" },
  },
  drop: { before: { kind: "drop-before" }, after: { kind: "cut-body" } },
} as const;
const kinds = {
  "is refused": "refuse",
  "fails for a while": "error",
  breaks: "drop",
  "kills the process": "drop",
} as const;
/** The number of attempts that fail in a transient failure. */
const failuresMax = 3;

/** Makes a step fail. A process that is killed there does nothing more, so all later requests are refused. */
async function during<Result>(step: Step, time: Time, fate: Fate, work: () => Promise<Result>): Promise<Result> {
  const requested: Record<string, string[]> = {};
  let failures = 0;
  const decide = (kind: string, what: string): readonly [keyof typeof faults, Time] | undefined => {
    requested[kind] ??= [];
    if (!requested[kind].includes(what)) requested[kind].push(what);
    if (fate === "kills the process" && failures > 0) return ["refuse", "before"];
    if (`${kind} ${requested[kind].indexOf(what) + 1}` !== step) return undefined;
    failures += 1;
    return fate === "is refused" || failures <= failuresMax ? [kinds[fate], time] : undefined;
  };
  stack.dataApi.intercept(({ sql = "" }) => {
    const [kind, when] = decide("statement", sql) ?? [];
    return kind && when && faults[kind][when];
  });
  stack.s3.intercept((request) => {
    const [kind, when] = decide(request.split(" ")[0] ?? "", request) ?? [];
    return kind && when && `${kind}-${when}`;
  });
  return await work().finally(passAll);
}

/** Complete at any moment, even before the next removal: both objects of the current image. */
async function expectComplete(): Promise<string | null> {
  const key = await imageOf(stack, "contributors", contributor);
  expect(await stack.keys()).toEqual(expect.arrayContaining(pairOf(key)));
  return key;
}

/** A kill before and after each step, and what else is special. */
const killsAnd = (steps: readonly Step[], ...others: readonly (readonly [Step, Fate, Time])[]) => [
  ...steps.flatMap((step) => (["before", "after"] as const).map((time) => [step, "kills the process", time] as const)),
  ...others,
];
const isTransient = (fate: Fate) => fate === "fails for a while" || fate === "breaks";

describe("Records and bucket agree", () => {
  it.each(
    killsAnd(
      ["statement 1", "PUT 1", "PUT 2", "statement 2", "POST 1"],
      ["PUT 2", "fails for a while", "after"],
      ["statement 2", "is refused", "before"],
      ["statement 2", "breaks", "after"],
    ),
  )("when %s of an update %s, %s it was done", async (step, fate, time) => {
    const { status } = await during(step, time, fate, () => update());

    // An object that cannot be removed now is listed, so the change succeeds.
    const isSuccess = isTransient(fate) || step === "POST 1";
    expect(status).toBe(isSuccess ? 200 : 500);
    const isSwapped = isSuccess || (step === "statement 2" && time === "after");
    expect((await expectComplete()) !== before).toBe(isSwapped);
    await stack.sweep();
    expect((await expectComplete()) !== before).toBe(isSwapped);
    await expectAgreement(stack);
    expect((await update()).status).toBe(200);
  });

  it.each(killsAnd(["statement 1", "POST 1"], ["statement 1", "breaks", "after"]))(
    "when %s of a removal %s, %s it was done",
    async (step, fate, time) => {
      const { status } = await during(step, time, fate, remove);

      const isSuccess = isTransient(fate) || step === "POST 1";
      expect(status).toBe(isSuccess ? 200 : 500);
      expect(await expectComplete()).toBe(isSuccess || time === "after" ? null : before);
      await expectAgreement(stack);
    },
  );

  it.each(killsAnd(["statement 1", "POST 1", "statement 2"]))(
    "when %s of the scheduled removal %s, %s it was done",
    async (step, fate, time) => {
      await stack.sql`update contributors set image = null where id = ${contributor.id}`;

      await during(step, time, fate, () => stack.sweep()).catch(() => undefined);

      await expectAgreement(stack);
    },
  );

  it("after 30 updates at once, of which one image is left, which is served", async () => {
    const replies = await Promise.all(Array.from({ length: 30 }, () => update()));

    expect(replies.map(({ status }) => status)).toEqual(Array(30).fill(200));
    for (const key of pairOf(await expectComplete())) {
      const { status, headers } = await fetch(`${stack.url}/images/${key}`);
      expect([status, headers.get("content-type")]).toEqual([200, "image/webp"]);
    }
    await expectAgreement(stack);
  });

  it("after updates, removals of the image, scheduled removals and deletions of records at once", async () => {
    const others = await Promise.all(Array.from({ length: 10 }, () => aContributor(stack.sql)));
    const works = [() => stack.sweep(), () => update(), remove];

    await Promise.all([
      ...Array.from({ length: 36 }, (_, index) => works[index % 3]?.()),
      ...others.flatMap(({ id }) => [update(id), call("admin-contributors/delete", id), update(id)]),
    ]);

    await expectComplete();
    expect(await stack.sql`select from contributors where id = any(${others.map(({ id }) => id)})`).toEqual([]);
    await expectAgreement(stack);
  });

  it.each([
    ["is about to fall due", "update images_to_remove set remove_after = now() + interval '4 minutes'"],
    ["has left the list", "delete from images_to_remove"],
  ])("when the new image of an update %s: it fails, and loses nothing", async (_, change) => {
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

  it("after the deletion of a contributor and a user, whose images are deleted with them", async () => {
    const user = await aUser(stack.sql);
    await call("admin-users/update-image", user.id, { image: tinyImage });
    const keys = [before, await imageOf(stack, "users", user)].flatMap(pairOf);
    expect(await stack.keys()).toEqual(expect.arrayContaining(keys));

    for (const [name, id] of [
      ["admin-contributors/delete", contributor.id] as const,
      ["admin-users/delete", user.id] as const,
    ])
      expect((await call(name, id)).status).toBe(200);

    await stack.sweep();
    for (const key of keys) expect(await stack.keys()).not.toContain(key);
    await expectAgreement(stack);
  });
});

describe("POST /admin-contributors/update-avatar/{id} while a service does not answer", () => {
  const notDone = envelope(503, "Service unavailable, nothing was changed");
  const unknown = envelope(503, "Service unavailable, try again in a few seconds");

  /** Fails at its second statement, the one that makes the record refer to the new image. */
  const failAtSwap = (kind: "503" | "cut-body") =>
    stack.dataApi.intercept(({ sql }) => (sql === stack.dataApi.calls[0]?.sql ? undefined : { kind }));

  it.each([
    ["the database", unknown, () => stack.dataApi.intercept(() => ({ kind: "503" }))],
    ["the database after the first statement", unknown, () => failAtSwap("503")],
    ["S3", notDone, () => stack.s3.intercept(() => "error-before")],
    ["S3, silently", notDone, () => stack.s3.intercept(() => new Promise(() => {}))],
    [
      "both by turns",
      unknown,
      () => {
        stack.s3.intercept(() => (stack.s3.requests.length < 12 ? "error-before" : undefined));
        failAtSwap("503");
      },
    ],
  ])("answers 503 with Retry-After once for all its calls: %s", async (_, unavailable, fail) => {
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
