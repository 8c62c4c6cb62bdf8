import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { aContributor } from "../../support/catalogue.ts";
import { envelope } from "../../support/envelope.ts";
import { anAdministrator, type Person } from "../../support/people.ts";
import { dataUrl, plain } from "../../support/pictures.ts";
import { expectAgreement, imageOf, pairOf, startUploads, type UploadStack } from "../../support/uploads.ts";

let stack: UploadStack;
let administrator: Person;
let contributor: { id: number };
let before: string | null;

const waitInMilliseconds = 4_000;

beforeAll(async () => {
  // A function keeps 5 s of its time for itself.
  stack = await startUploads({ timeouts: { bufferedInMilliseconds: waitInMilliseconds + 5_000 } });
  administrator = await anAdministrator(stack.sql);
});

beforeEach(async () => {
  contributor = await aContributor(stack.sql);
  await update();
  before = await imageOf(stack, "contributors", contributor);
});

afterAll(() => stack.close());

const update = async () =>
  stack.call("admin-contributors/update-avatar", {
    as: administrator.token,
    path: { id: contributor.id },
    body: { image: dataUrl(await plain().png().toBuffer()) },
  });

const notDone = envelope(503, "Service unavailable, nothing was changed");
const unknown = envelope(503, "Service unavailable, try again in a few seconds");

/** Fails at its second statement, the one that makes the record refer to the new image. */
function failAtSwap(kind: "503" | "cut-body"): void {
  stack.dataApi.calls.length = 0;
  stack.dataApi.intercept(({ sql }) => (sql === stack.dataApi.calls[0]?.sql ? undefined : { kind }));
}

describe("POST /admin-contributors/update-avatar/{id} while a service does not answer", () => {
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
    stack.s3.requests.length = 0;
    fail();
    const start = Date.now();

    const { body, headers } = await update();

    stack.dataApi.intercept(undefined);
    stack.s3.intercept(undefined);
    expect(body).toEqual(unavailable);
    expect(headers.get("retry-after")).toBe("5");
    expect(Date.now() - start).toBeLessThan(waitInMilliseconds + 4_000);
    expect(await imageOf(stack, "contributors", contributor)).toBe(before);
    expect(await stack.keys()).toEqual(expect.arrayContaining(pairOf(before)));
    await expectAgreement(stack);
  });

  it("leaves the old or the new image complete when it is unknown whether the record has the new one", async () => {
    failAtSwap("cut-body");

    expect((await update()).body).toEqual(unknown);

    stack.dataApi.intercept(undefined);
    expect(await stack.keys()).toEqual(
      expect.arrayContaining(pairOf(await imageOf(stack, "contributors", contributor))),
    );
    await expectAgreement(stack);
  });

  it("answers 500 at once to an image that cannot be processed", async () => {
    const start = Date.now();
    const { body } = await stack.call("admin-contributors/update-avatar", {
      as: administrator.token,
      path: { id: contributor.id },
      body: { image: dataUrl(Buffer.from("no image at all")) },
    });

    expect(body).toEqual(envelope(500, "An error occurred while updating the contributor avatar"));
    expect(Date.now() - start).toBeLessThan(waitInMilliseconds);
  });
});
