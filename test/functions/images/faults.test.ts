import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Fault } from "../../../infra/aws-local/data-api/faults.ts";
import { aContributor } from "../../support/catalogue.ts";
import { anAdministrator, aUser, type Person } from "../../support/people.ts";
import { dataUrl, plain } from "../../support/pictures.ts";
import { broken } from "../../support/unchanged.ts";
import { expectAgreement, imageOf, pairOf, startUploads, type UploadStack } from "../../support/uploads.ts";

let stack: UploadStack;
let administrator: Person;
let contributor: { id: number };
let before: string | null;

beforeAll(async () => {
  stack = await startUploads();
  administrator = await anAdministrator(stack.sql);
});

beforeEach(async () => {
  contributor = await aContributor(stack.sql);
  await update();
  before = await imageOf(stack, "contributors", contributor);
});

afterAll(() => stack.close());

let shade = 0;

async function update(id = contributor.id) {
  shade = (shade + 1) % 256;
  const image = dataUrl(
    await plain(`#cc33${shade.toString(16).padStart(2, "0")}`)
      .png()
      .toBuffer(),
  );
  return await call("admin-contributors/update-avatar", id, { image });
}

const call = (name: string, id: number, body?: unknown) =>
  stack.call(name, { as: administrator.token, path: { id }, body });

/** Where something can go wrong: the statements, and the requests to S3. */
type Step = "statement 1" | "statement 2" | "PUT 1" | "PUT 2" | "POST 1";
type Time = "before" | "after";
const fates = {
  "is refused": "refuse",
  "fails for a while": "error",
  breaks: "drop",
  "kills the process": "drop",
} as const;
type Fate = keyof typeof fates;

const unavailable = { status: 500, type: "InternalServerErrorException" };
const dataApiFaults: Record<`${(typeof fates)[Fate]}-${Time}`, Fault> = {
  "refuse-before": broken,
  "refuse-after": { ...broken, kind: "error-after" },
  "error-before": { kind: "error", ...unavailable },
  "error-after": { kind: "error-after", ...unavailable },
  "drop-before": { kind: "drop-before" },
  "drop-after": { kind: "cut-body" },
};

/** The number of attempts that fail in a transient failure. */
const failuresMax = 3;

/** Makes a step fail. A process that is killed there does nothing more, so all that it asks for later is refused. */
function fail(step: Step, time: Time, fate: Fate): void {
  const asked: Record<string, string[]> = {};
  let failures = 0;
  const decide = (kind: string, what: string) => {
    asked[kind] ??= [];
    if (!asked[kind].includes(what)) asked[kind].push(what);
    if (fate === "kills the process" && failures > 0) return "refuse-before";
    if (`${kind} ${asked[kind].indexOf(what) + 1}` !== step) return undefined;
    failures += 1;
    return fate === "is refused" || failures <= failuresMax ? (`${fates[fate]}-${time}` as const) : undefined;
  };
  stack.dataApi.intercept(({ sql = "" }) => {
    const fault = decide("statement", sql);
    return fault && dataApiFaults[fault];
  });
  stack.s3.intercept((request) => decide(request.split(" ")[0] ?? "", request));
}

async function during<Result>(step: Step, time: Time, fate: Fate, work: () => Promise<Result>): Promise<Result> {
  fail(step, time, fate);
  try {
    return await work();
  } finally {
    stack.dataApi.intercept(undefined);
    stack.s3.intercept(undefined);
  }
}

/** Whole at any moment, even before the next removal: both objects of the image that is referred to. */
async function expectWhole(): Promise<string | null> {
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

describe("An update of an image", () => {
  it.each(
    killsAnd(
      ["statement 1", "PUT 1", "PUT 2", "statement 2", "POST 1"],
      ["PUT 2", "fails for a while", "after"],
      ["statement 2", "is refused", "before"],
      ["statement 2", "breaks", "after"],
    ),
  )("leaves records and bucket consistent when %s %s %s it was done", async (step, fate, time) => {
    const { status } = await during(step, time, fate, () => update());

    // An object that cannot be removed now is listed, so the change succeeds.
    const isSuccess = isTransient(fate) || step === "POST 1";
    expect(status).toBe(isSuccess ? 200 : 500);
    const isSwapped = isSuccess || (step === "statement 2" && time === "after");
    expect((await expectWhole()) !== before).toBe(isSwapped);
    await stack.sweep();
    expect((await expectWhole()) !== before).toBe(isSwapped);
    await expectAgreement(stack);
    expect((await update()).status).toBe(200);
  });
});

describe("A removal of an image", () => {
  it.each(killsAnd(["statement 1", "POST 1"], ["statement 1", "breaks", "after"]))(
    "leaves records and bucket consistent when %s %s %s it was done",
    async (step, fate, time) => {
      const { status } = await during(step, time, fate, () => call("admin-contributors/delete-avatar", contributor.id));

      const isSuccess = isTransient(fate) || step === "POST 1";
      expect(status).toBe(isSuccess ? 200 : 500);
      expect(await expectWhole()).toBe(isSuccess || time === "after" ? null : before);
      await expectAgreement(stack);
    },
  );
});

describe("The scheduled removal", () => {
  it.each(killsAnd(["statement 1", "POST 1", "statement 2"]))(
    "leaves records and bucket consistent when %s %s %s it was done",
    async (step, fate, time) => {
      await stack.sql`update contributors set image = null where id = ${contributor.id}`;

      const done = during(step, time, fate, () => stack.sweep());

      if (isTransient(fate)) await done;
      else await done.catch(() => undefined);
      await expectAgreement(stack);
    },
  );
});

describe("Many at once", () => {
  it("30 updates of one avatar all succeed, and one image is left, which is served", async () => {
    const replies = await Promise.all(Array.from({ length: 30 }, () => update()));

    expect(replies.map(({ status }) => status)).toEqual(Array(30).fill(200));
    const key = await expectWhole();
    for (const each of pairOf(key)) {
      const { status, headers } = await fetch(`${stack.url}/images/${each}`);
      expect([status, headers.get("content-type")]).toEqual([200, "image/webp"]);
    }
    await expectAgreement(stack);
  });

  it("updates, removals of the image and scheduled removals leave records and bucket consistent", async () => {
    await Promise.all(
      Array.from({ length: 36 }, (_, index) => {
        if (index % 3 === 0) return stack.sweep();
        return index % 3 === 1 ? update() : call("admin-contributors/delete-avatar", contributor.id);
      }),
    );

    await expectWhole();
    await expectAgreement(stack);
  });

  it.each([
    ["is about to fall due", "update images_to_remove set remove_after = now() + interval '4 minutes'"],
    ["has left the list", "delete from images_to_remove"],
  ])("an update whose new image %s fails, and loses nothing", async (_, change) => {
    stack.s3.intercept(async (request) => {
      await stack.sql.query(`${change} where remove_after > now()`);
      // Not even when what it has written can only be removed later.
      return request.startsWith("POST") ? "error-before" : undefined;
    });

    const { status } = await update();
    stack.s3.intercept(undefined);

    expect(status).toBe(500);
    expect(await expectWhole()).toBe(before);
    await expectAgreement(stack);
  });
});

describe("Deletion", () => {
  it("of a contributor takes the avatar along", async () => {
    expect((await call("admin-contributors/delete", contributor.id)).status).toBe(200);

    await stack.sweep();
    for (const key of pairOf(before)) expect(await stack.keys()).not.toContain(key);
    await expectAgreement(stack);
  });

  it("of a user takes the profile image along", async () => {
    const user = await aUser(stack.sql);
    const image = dataUrl(await plain().png().toBuffer());
    await call("admin-users/update-image", user.id, { image });
    const key = await imageOf(stack, "users", user);
    expect(await stack.keys()).toEqual(expect.arrayContaining(pairOf(key)));

    expect((await call("admin-users/delete", user.id)).status).toBe(200);

    await stack.sweep();
    for (const each of pairOf(key)) expect(await stack.keys()).not.toContain(each);
    await expectAgreement(stack);
  });

  it("during updates leaves nothing behind", async () => {
    const others = await Promise.all(Array.from({ length: 10 }, () => aContributor(stack.sql)));

    await Promise.all(
      others.flatMap(({ id }) => [update(id), update(id), call("admin-contributors/delete", id), update(id)]),
    );

    expect(await stack.sql`select from contributors where id = any(${others.map(({ id }) => id)})`).toEqual([]);
    await expectAgreement(stack);
  });
});
