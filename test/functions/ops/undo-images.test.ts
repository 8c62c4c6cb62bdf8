import { randomUUID } from "node:crypto";
import { DeleteObjectCommand, ListObjectVersionsCommand } from "@aws-sdk/client-s3";
import { beforeEach, describe, expect, it } from "vitest";
import { imageBucket as Bucket } from "../../../infra/local/stage/functions.ts";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { values } from "../../support/database.ts";
import { s3Of } from "../../support/exports.ts";
import { aUser } from "../../support/people.ts";
import { tinyImage as image } from "../../support/pictures.ts";
import type { Request } from "../../support/stack.ts";
import { broken } from "../../support/unchanged.ts";
import { changeBy, settleImages, undo, undone } from "../../support/undo.ts";
import { expectAgreement, imageOf, notedKeys, pairOf, useUploads } from "../../support/uploads.ts";

const stack = useUploads();
const administrator = useAdministrator(stack);

beforeEach(() => () => expectAgreement(stack));

/** Makes a change, and returns its id. */
async function change(name: string, request: Omit<Request, "as">): Promise<number> {
  const id = await changeBy(stack, name, { as: administrator.token, ...request });
  await settleImages(stack.sql);
  return id;
}

/** A record with an image, and the names of its endpoints. */
async function aRecordWithImage(table: "users" | "contributors") {
  const record = table === "users" ? await aUser(stack.sql) : await aContributor(stack.sql);
  const path = { id: record.id };
  const [update, remove] = table === "users" ? ["update-image", "delete-image"] : ["update-avatar", "delete-avatar"];
  const edits = {
    update: () => change(`admin-${table}/${update}`, { path, body: { image } }),
    remove: () => change(`admin-${table}/${remove}`, { path }),
  };
  await edits.update();
  const image_ = await imageOf(stack, table, record);
  return { ...edits, id: record.id, path, image: image_ ?? "", now: () => imageOf(stack, table, record) };
}

/** Deletes all versions of the objects of an image, as S3 does after 30 days. */
async function expire(key: string): Promise<void> {
  const client = s3Of(stack);
  const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket }));
  for (const { Key = "", VersionId } of [...Versions, ...DeleteMarkers])
    if (pairOf(key).includes(Key)) await client.send(new DeleteObjectCommand({ Bucket, Key, VersionId }));
}

describe.each(["users", "contributors"] as const)("ops-undo brings back the image of %s", (table) => {
  it("after an update and after a removal, and takes it again", async () => {
    const record = await aRecordWithImage(table);

    for (const edit of [record.update, record.remove]) {
      const id = await edit();
      const latest = await record.now();
      expect(await stack.keys()).not.toContain(record.image);

      const first = await undone(stack, id);
      expect(await record.now()).toBe(record.image);
      expect(await stack.keys()).toEqual(expect.arrayContaining(pairOf(record.image)));
      const noted = await notedKeys(stack);
      expect(noted).not.toContain(record.image);
      if (latest) expect(noted).toContain(latest);

      await stack.sweep();
      await settleImages(stack.sql);
      const second = await undone(stack, first);
      expect(await record.now()).toBe(latest);
      await settleImages(stack.sql);
      await undone(stack, second);
      expect(await record.now()).toBe(record.image);
    }
  });

  it("not after it is gone for good: the change is refused", async () => {
    const record = await aRecordWithImage(table);
    const id = await record.remove();
    await expire(record.image);

    const kind = table === "users" ? "user" : "contributor";
    expect((await undo(stack, { change: id })).refused).toEqual([
      expect.objectContaining({ change: id, reason: `The old image of ${kind} ${record.id} is removed` }),
    ]);
    expect(await record.now()).toBeNull();
  });
});

describe("ops-undo and images", () => {
  const sizeOf = async ({ id }: { id: number }) =>
    await values(stack.sql`select image_size from contributors where id = ${id}`);

  it("brings back a deleted contributor with the avatar", async () => {
    const record = await aRecordWithImage("contributors");
    const id = await change("admin-contributors/delete", { path: record.path });

    expect(await undo(stack, { change: id })).toMatchObject({ undone: [{ missing: [] }], refused: [] });

    expect([await record.now(), await sizeOf(record)]).toEqual([record.image, ["1x1"]]);
  });

  it("brings back a deleted contributor without an avatar that is gone, and says so", async () => {
    const record = await aRecordWithImage("contributors");
    const id = await change("admin-contributors/delete", { path: record.path });
    await expire(record.image);

    const missing = [`The image of contributor ${record.id} is removed`];
    expect(await undo(stack, { change: id })).toMatchObject({ undone: [{ missing }], refused: [] });

    expect([await record.now(), await sizeOf(record)]).toEqual([null, [null]]);
  });

  it("says in a dry run what would happen, and leaves database and bucket as they are", async () => {
    const record = await aRecordWithImage("contributors");
    const id = await record.update();
    stack.s3.requests.length = 0;
    const noted = await notedKeys(stack);

    expect(await undo(stack, { change: id, dryRun: true })).toMatchObject({
      undone: [{ what: [expect.stringContaining(record.image)], missing: [] }],
    });
    expect(stack.s3.requests).toEqual([]);
    expect(await notedKeys(stack)).toEqual(noted);
  });

  it("leaves restored images listed when it breaks off before the change", async () => {
    const record = await aRecordWithImage("contributors");
    const id = await record.remove();
    stack.dataApi.intercept(({ sql }) => (sql?.includes("undo_changes") ? broken : undefined));

    await expect(undo(stack, { change: id })).rejects.toThrow();
    stack.dataApi.intercept(undefined);

    expect(await notedKeys(stack)).toContain(record.image);
    expect(await stack.keys()).toContain(record.image);
    await settleImages(stack.sql);
    await undone(stack, id);
    expect(await record.now()).toBe(record.image);
  });

  it("is not spoilt by a repeated request, which would delete the objects again", async () => {
    const record = await aRecordWithImage("contributors");
    const headers = { "Idempotency-Key": randomUUID() };
    const deletion = { path: record.path, headers };
    const id = await change("admin-contributors/delete", deletion);
    await undone(stack, id);

    await stack.call("admin-contributors/delete", { as: administrator.token, ...deletion });

    expect(await stack.keys()).toEqual(expect.arrayContaining(pairOf(record.image)));
  });

  it("waits until nobody can still be deleting the objects", async () => {
    const record = await aRecordWithImage("contributors");
    const id = await record.remove();
    await stack.sql`update images_to_remove set remove_after = now() - interval '58.5 seconds'`;
    const startedAt = performance.now();

    await undone(stack, id);

    expect(performance.now() - startedAt).toBeGreaterThan(1_000);
  });
});
