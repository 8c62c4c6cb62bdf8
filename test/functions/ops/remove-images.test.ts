import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { imageBucket } from "../../../infra/local/stage/functions.ts";
import { key } from "../../support/environment.ts";
import { notedKeys, pairOf, useUploads } from "../../support/uploads.ts";

const stack = useUploads();
let client: S3Client;

beforeAll(async () => {
  client = new S3Client({ endpoint: stack.s3.url, credentials: key, forcePathStyle: true });
});

beforeEach(async () => {
  await stack.sql`update images_to_remove set remove_after = now()`;
  await stack.sweep();
  stack.dataApi.calls.length = 0;
  stack.s3.requests.length = 0;
});

const put = (key: string) =>
  Promise.all(
    pairOf(key).map((Key) => client.send(new PutObjectCommand({ Bucket: imageBucket, Key, Body: "an image" }))),
  );

const listForRemoval = (key: string, minutes = -1) =>
  stack.sql`
    insert into images_to_remove (key, remove_after)
    values (${key}, now() + make_interval(mins => ${minutes}))
  `;

describe("ops-remove-images", () => {
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
