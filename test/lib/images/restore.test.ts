import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { useS3 } from "../../../infra/aws-local/test/use-s3.ts";
import { imageBucket as Bucket, bucketsOf } from "../../../infra/local/stage/functions.ts";
import { newKey } from "../../../lib/images/keys.ts";
import { key as signingKey, useBucket, useDatabase } from "../../support/environment.ts";
import { pairOf } from "../../support/uploads.ts";

const s3 = useS3(bucketsOf({ uploads: true }), signingKey);
let images: typeof import("../../../lib/images/store.ts");
let key: string;

beforeAll(async () => {
  useDatabase("none", "http://127.0.0.1:9");
  useBucket(s3.server.url);
  // They read the name of the bucket when they are loaded.
  images = await import("../../../lib/images/store.ts");
});

beforeEach(async () => {
  key = newKey("contributors");
  await images.storeImage(key, { full: Buffer.from("full"), scaled: Buffer.from("scaled") }, soon());
  s3.server.requests.length = 0;
});

afterEach(() => s3.server.intercept(undefined));

const soon = () => performance.now() + 10_000;

/** Bytes and headers of both objects; undefined where one is deleted. */
const stored = () =>
  Promise.all(
    pairOf(key).map(async (Key) => {
      const found = await s3.client.getObject({ Bucket, Key }).catch(() => undefined);
      if (!found) return undefined;
      const { ContentType, CacheControl, ETag, Body } = found;
      return { ContentType, CacheControl, ETag, text: await Body?.transformToString() };
    }),
  );

const versionsOf = async (Prefix = key) => {
  const { Versions = [] } = await s3.client.listObjectVersions({ Bucket, Prefix });
  return Versions.map(({ Key, VersionId }) => ({ Key, VersionId }));
};

/** As S3 does after a while. */
const expire = async (Key: string) =>
  s3.client.deleteObjects({ Bucket, Delete: { Objects: await versionsOf(Key), Quiet: true } });

const writes = () => s3.server.requests.filter((each) => !each.startsWith("GET "));

describe("An image that was deleted", () => {
  it("is restored, bytes and headers alike, after it was deleted again and again, and keeps all its versions", async () => {
    const before = await stored();
    for (const _ of [1, 2, 3]) {
      await images.deleteObjects([key]);
      await images.deleteObjects([key]);
      expect(await stored()).toEqual([undefined, undefined]);
      const versions = await versionsOf();
      expect(await images.restoreObjects(key)).toBe("restored");
      expect(await stored()).toEqual(before);
      expect(await versionsOf()).toEqual(expect.arrayContaining(versions));
    }

    const CacheControl = expect.stringMatching("immutable");
    expect(before[0]).toMatchObject({ text: "full", ContentType: "image/webp", CacheControl });
  });

  it.each([0, 1])("is restored when only object %i of two was deleted, which alone is written", async (index) => {
    const before = await stored();
    const [deleted = ""] = pairOf(key).slice(index);
    await s3.client.deleteObject({ Bucket, Key: deleted });
    s3.server.requests.length = 0;

    expect(await images.restoreObjects(key)).toBe("restored");

    expect(writes()).toEqual([`PUT /${Bucket}/${deleted}`]);
    expect(await stored()).toEqual(before);
  });

  it("is there already, and nothing is written", async () => {
    expect(await images.restoreObjects(key)).toBe("present");

    expect(writes()).toEqual([]);
  });

  it.each([
    { what: "both objects", indexes: [0, 1] },
    { what: "the image", indexes: [0] },
    { what: "the small picture", indexes: [1] },
  ])("is lost if S3 deleted $what for good, and nothing is written", async ({ indexes }) => {
    await images.deleteObjects([key]);
    for (const each of indexes) await expire(pairOf(key)[each] ?? "");
    s3.server.requests.length = 0;

    expect(await images.restoreObjects(key)).toBe("deleted");

    expect(writes()).toEqual([]);
    expect(await stored()).toEqual([undefined, undefined]);
  });

  it("is not that of a longer key, and lost if it never was there", async () => {
    await expire(key);
    await s3.client.putObject({ Bucket, Key: `${key}.webp`, Body: "another one" });

    expect(await images.restoreObjects(key)).toBe("deleted");
    expect(await images.restoreObjects(newKey("users"))).toBe("deleted");
  });
});

describe("A restoration", () => {
  const steps = ["GET 1", "GET 2", "PUT 1", "PUT 2"];
  const faults = ["error-before", "error-after", "drop-before", "drop-after"] as const;

  it.each(steps.flatMap((step) => faults.map((fault) => ({ step, fault }))))(
    "outlasts $step: $fault",
    async ({ step, fault }) => {
      const before = await stored();
      await images.deleteObjects([key]);
      failAt(step, fault);

      expect(await images.restoreObjects(key, soon())).toBe("restored");

      expect(await stored()).toEqual(before);
    },
  );

  it.each(steps)("that is refused at %s throws, and succeeds the next time", async (step) => {
    const before = await stored();
    await images.deleteObjects([key]);
    failAt(step, "refuse-before");

    await expect(images.restoreObjects(key, soon())).rejects.toMatchObject({ $metadata: { httpStatusCode: 403 } });

    s3.server.intercept(undefined);
    expect(await images.restoreObjects(key)).toBe("restored");
    expect(await stored()).toEqual(before);
  });

  it("ends at its deadline while S3 is down, when nothing is written any more", async () => {
    await images.deleteObjects([key]);
    s3.server.intercept((request) => (request.startsWith("PUT") ? "drop-before" : undefined));

    await expect(images.restoreObjects(key, performance.now() + 500)).rejects.toMatchObject({ name: "Unavailable" });

    s3.server.intercept(undefined);
    expect(await stored()).toEqual([undefined, undefined]);
    expect(await images.restoreObjects(key)).toBe("restored");
  });

  it("that runs twice at once restores the image, too", async () => {
    const before = await stored();
    await images.deleteObjects([key]);

    const responses = await Promise.all([images.restoreObjects(key), images.restoreObjects(key)]);

    expect(responses).toContain("restored");
    expect(await stored()).toEqual(before);
  });
});

/** At the first or second call of a method. */
function failAt(step: string, fault: "error-before" | "error-after" | "drop-before" | "drop-after" | "refuse-before") {
  let count = 0;
  s3.server.intercept((request) => {
    const [method = "", number] = step.split(" ");
    if (!request.startsWith(method)) return undefined;
    count += 1;
    return `${count}` === number ? fault : undefined;
  });
}
