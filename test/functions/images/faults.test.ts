import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Fault } from "../../../infra/local/data-api/server.ts";
import type { S3Fault } from "../../../infra/local/s3.ts";
import { aContributor } from "../../support/catalogue.ts";
import { anAdministrator, aUser, type Person } from "../../support/people.ts";
import { dataUrl, plain } from "../../support/pictures.ts";
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
type Way = "error before" | "error after" | "cut before" | "cut after";

const dataApiFaults: Record<Way, Fault> = {
  "error before": { kind: "error", status: 500, type: "InternalServerErrorException" },
  "error after": { kind: "error-after", status: 500, type: "InternalServerErrorException" },
  "cut before": { kind: "drop-before" },
  "cut after": { kind: "drop-after" },
};
const s3Faults: Record<Way, S3Fault> = {
  "error before": "error-before",
  "error after": "error-after",
  "cut before": "drop-before",
  "cut after": "drop-after",
};

/** Makes a step fail, at each attempt; a process that is killed there is heard of no more. */
function fail(step: Step, way: Way, isKilled: boolean): void {
  const seen = new Map<string, string[]>();
  let isDead = false;
  const isHit = (kind: string, what: string): boolean => {
    const others = seen.get(kind) ?? [];
    seen.set(kind, others);
    if (!others.includes(what)) others.push(what);
    const hit = `${kind} ${others.indexOf(what) + 1}` === step;
    isDead ||= hit && isKilled;
    return hit;
  };
  stack.dataApi.intercept(({ number }) => {
    if (isDead) return { kind: "drop-before" };
    return isHit("statement", String(number)) ? dataApiFaults[way] : undefined;
  });
  stack.s3.intercept((request) => {
    if (isDead) return "drop-before";
    return isHit(request.split(" ")[0] ?? "", request) ? s3Faults[way] : undefined;
  });
}

async function during<Result>(step: Step, way: Way, isKilled: boolean, work: () => Promise<Result>): Promise<Result> {
  fail(step, way, isKilled);
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

const ways: Way[] = ["error before", "error after", "cut before", "cut after"];
const fates = [
  ["fails", false],
  ["kills the process", true],
] as const;
const every = (steps: readonly Step[]) =>
  steps.flatMap((step) => ways.flatMap((way) => fates.map(([fate, isKilled]) => [step, way, fate, isKilled] as const)));

describe("An update of an image", () => {
  const steps: Step[] = ["statement 1", "PUT 1", "PUT 2", "statement 2", "POST 1"];

  it.each(every(steps))("leaves all in order when %s (%s) %s", async (step, way, _fate, isKilled) => {
    const { status } = await during(step, way, isKilled, () => update());

    const isSwapped = step === "POST 1" || (step === "statement 2" && way.endsWith("after"));
    expect(status).toBe(step === "POST 1" ? 200 : 500);
    expect((await expectWhole()) !== before).toBe(isSwapped);
    await stack.sweep();
    expect((await expectWhole()) !== before).toBe(isSwapped);
    await expectAgreement(stack);
    expect((await update()).status).toBe(200);
  });
});

describe("A removal of an image", () => {
  it.each(every(["statement 1", "POST 1"]))(
    "leaves all in order when %s (%s) %s",
    async (step, way, _fate, isKilled) => {
      const { status } = await during(step, way, isKilled, () =>
        call("admin-contributors/delete-avatar", contributor.id),
      );

      expect(status).toBe(step === "POST 1" ? 200 : 500);
      const isCleared = step === "POST 1" || way.endsWith("after");
      expect(await expectWhole()).toBe(isCleared ? null : before);
      await expectAgreement(stack);
    },
  );
});

describe("The scheduled removal", () => {
  it.each(every(["statement 1", "POST 1", "statement 2"]))(
    "leaves all in order when %s (%s) %s",
    async (step, way, _fate, isKilled) => {
      await stack.sql`update contributors set image = null where id = ${contributor.id}`;
      await stack.sql`insert into images_to_remove (key) values (${before})`;

      await during(step, way, isKilled, () => stack.sweep().catch(() => undefined));

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

  it("updates, removals of the image and scheduled removals leave all in order", async () => {
    await Promise.all(
      Array.from({ length: 36 }, (_, place) => {
        if (place % 3 === 0) return stack.sweep();
        return place % 3 === 1 ? update() : call("admin-contributors/delete-avatar", contributor.id);
      }),
    );

    await expectWhole();
    await expectAgreement(stack);
  });

  it.each([
    ["is about to fall due", "update images_to_remove set remove_after = now() + interval '4 minutes'"],
    ["has been struck out", "delete from images_to_remove"],
  ])("an update whose note %s gives up, and loses nothing", async (_, change) => {
    stack.s3.intercept(async (request) => {
      await stack.sql.unsafe(`${change} where remove_after > now()`);
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

    expect(await stack.sql`select from contributors where id in ${stack.sql(others.map(({ id }) => id))}`).toEqual([]);
    await expectAgreement(stack);
  });
});
