import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  CopyObjectCommand,
  type CopyObjectCommandInput,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandInput,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { describe, expect, it } from "vitest";
import { useS3 } from "../test/use-s3.ts";

const Bucket = "pictures";
const s3 = useS3([{ name: Bucket, versioned: true }, { name: "plain" }]);

const put = async (Key: string, Body = "an image", more = {}) =>
  (await s3.client.send(new PutObjectCommand({ Bucket, Key, Body, ...more }))).VersionId ?? expect.fail();
const get = async (Key: string, VersionId?: string) => {
  const found = await s3.client.send(new GetObjectCommand({ Bucket, Key, VersionId }));
  return { ...found, text: await found.Body?.transformToString() };
};
const remove = (Key: string, VersionId?: string) => s3.client.send(new DeleteObjectCommand({ Bucket, Key, VersionId }));
const list = (input: Partial<ListObjectVersionsCommandInput>) =>
  s3.client.send(new ListObjectVersionsCommand({ Bucket, ...input }));
const copy = (input: Partial<CopyObjectCommandInput>) =>
  s3.client.send(new CopyObjectCommand({ Bucket, Key: undefined, CopySource: undefined, ...input }));

describe("A bucket with versions", () => {
  it("answers each version until it is deleted for good, from one start to the next", async () => {
    const first = await put("one", "first", { ContentType: "text/plain" });
    const second = await put("one", "second");
    await s3.restart();
    const third = await put("one", "third");

    expect(await get("one")).toMatchObject({ text: "third", VersionId: third });
    expect(await get("one", first)).toMatchObject({ text: "first", VersionId: first, ContentType: "text/plain" });
    expect(await s3.client.send(new HeadObjectCommand({ Bucket, Key: "one", VersionId: second }))).toMatchObject({
      ContentLength: 6,
      VersionId: second,
    });

    const { VersionId, DeleteMarker } = await remove("one", third);
    expect([VersionId, DeleteMarker]).toEqual([third, undefined]);
    expect(await get("one")).toMatchObject({ text: "second", VersionId: second });
    await expect(get("one", third)).rejects.toMatchObject({
      name: "NoSuchVersion",
      $metadata: { httpStatusCode: 404 },
    });
  });

  it("deletes an object by a marker, each time by another one, and has it again without them", async () => {
    const version = await put("two");
    const markers = [await remove("two"), await remove("two")].map(({ VersionId, DeleteMarker }) => {
      expect(DeleteMarker).toBe(true);
      return VersionId;
    });

    const [older, newest] = markers;
    expect(older).not.toBe(newest);
    await expect(get("two")).rejects.toMatchObject({ name: "NoSuchKey", $metadata: { httpStatusCode: 404 } });
    await expect(get("two", newest)).rejects.toMatchObject({ $metadata: { httpStatusCode: 405 } });
    expect((await s3.client.send(new ListObjectsV2Command({ Bucket, Prefix: "two" }))).KeyCount).toBe(0);
    expect(await get("two", version)).toMatchObject({ text: "an image" });

    expect(await remove("two", newest)).toMatchObject({ VersionId: newest, DeleteMarker: true });
    await expect(get("two")).rejects.toMatchObject({ name: "NoSuchKey" });
    await remove("two", older);
    expect(await get("two")).toMatchObject({ text: "an image", VersionId: version });
  });

  it("marks what was never there as deleted", async () => {
    const { VersionId } = await remove("never");

    await s3.restart();
    expect(await list({ Prefix: "never" })).toMatchObject({
      DeleteMarkers: [{ Key: "never", VersionId, IsLatest: true }],
    });
  });

  it("deletes many at once, some of them for good", async () => {
    const kept = await put("many/1");
    const gone = await put("many/2");
    const { VersionId: marker } = await remove("many/3");

    const { Deleted } = await s3.client.send(
      new DeleteObjectsCommand({
        Bucket,
        Delete: {
          Objects: [{ Key: "many/1" }, { Key: "many/2", VersionId: gone }, { Key: "many/3", VersionId: marker }],
        },
      }),
    );

    const { Versions, DeleteMarkers } = await list({ Prefix: "many/" });
    expect(Versions?.map(({ Key, VersionId }) => [Key, VersionId])).toEqual([["many/1", kept]]);
    expect(DeleteMarkers?.map(({ Key }) => Key)).toEqual(["many/1"]);
    expect(Deleted).toEqual([
      { Key: "many/1", DeleteMarker: true, DeleteMarkerVersionId: DeleteMarkers?.[0]?.VersionId },
      { Key: "many/2", VersionId: gone },
      { Key: "many/3", VersionId: marker, DeleteMarker: true, DeleteMarkerVersionId: marker },
    ]);
  });

  it("lists versions by key, the newest first", async () => {
    const versions = [await put("list/a"), await put("list/a", "longer now"), await put("list/b")];
    const { VersionId: marker } = await remove("list/a");

    const { Versions = [], DeleteMarkers = [], IsTruncated } = await list({ Prefix: "list/" });
    expect(Versions.map(({ Key, VersionId, IsLatest, Size }) => [Key, VersionId, IsLatest, Size])).toEqual([
      ["list/a", versions[1], false, 10],
      ["list/a", versions[0], false, 8],
      ["list/b", versions[2], true, 8],
    ]);
    expect(Versions[0]).toMatchObject({ ETag: expect.stringMatching(/^"\w{32}"$/), StorageClass: "STANDARD" });
    expect(DeleteMarkers).toMatchObject([{ Key: "list/a", VersionId: marker, IsLatest: true }]);
    expect(IsTruncated).toBe(false);
  });

  it("lists keys encoded as in URLs, as the AWS CLI wants them", async () => {
    await put("coded/a b&c");
    await put("coded/\u0001");

    const { Versions, EncodingType } = await list({ Prefix: "coded/", EncodingType: "url" });

    expect(Versions?.map(({ Key }) => Key)).toEqual(["coded/%01", "coded/a%20b%26c"]);
    expect(EncodingType).toBe("url");
  });

  it("keeps what was stored before it had versions as the oldest version, null", async () => {
    await writeFile(
      join(s3.folder(Bucket), "old.object"),
      '{"etag":"\\"1\\"","last-modified":"Sun, 22 Nov 2026 10:00:00 GMT"}\nolder',
    );

    expect(await get("old")).toMatchObject({ text: "older", VersionId: "null" });
    const version = await put("old", "newer");
    await remove("old");
    expect(await get("old", "null")).toMatchObject({ text: "older" });
    const { Versions } = await list({ Prefix: "old" });
    expect(Versions?.map(({ VersionId }) => VersionId)).toEqual([version, "null"]);
  });

  it("loses none of many versions that come at once", async () => {
    const versions = await Promise.all(Array.from({ length: 30 }, (_, index) => put("busy", `${index}`)));

    expect(new Set(versions).size).toBe(30);
    const texts = await Promise.all(versions.map(async (each) => (await get("busy", each)).text));
    expect(texts).toEqual(Array.from({ length: 30 }, (_, index) => `${index}`));
  });

  it.each([
    ["an id that no version can have", () => get("one", "first"), 400, "InvalidArgument"],
    ["an empty id", () => remove("one", ""), 400, "InvalidArgument"],
    ["a page of versions", () => list({ MaxKeys: 1 }), 501, "NotImplemented"],
  ])("refuses %s", async (_, ask, status, name) => {
    await expect(ask()).rejects.toMatchObject({ name, $metadata: { httpStatusCode: status } });
  });
});

describe("A copy", () => {
  it("makes an earlier version the newest again, with its headers and its ETag", async () => {
    const stored = { ContentType: "image/webp", CacheControl: "public, max-age=1", Metadata: { by: "a test" } };
    const first = await put("copied/a b", "first", stored);
    await remove("copied/a b");

    const { VersionId, CopySourceVersionId, CopyObjectResult } = await copy({
      Key: "copied/a b",
      CopySource: `${Bucket}/copied/a%20b?versionId=${first}`,
    });

    const found = await get("copied/a b");
    expect(CopySourceVersionId).toBe(first);
    expect(found).toMatchObject({ ...stored, text: "first", VersionId, ETag: CopyObjectResult?.ETag });
    expect(found.ETag).toBe((await get("copied/a b", first)).ETag);
    expect(VersionId).not.toBe(first);
  });

  it("takes the newest version of another bucket", async () => {
    await put("elsewhere", "older");
    await put("elsewhere", "newer");

    const { VersionId } = await copy({ Bucket: "plain", Key: "here", CopySource: `/${Bucket}/elsewhere` });

    expect(VersionId).toBeUndefined();
    const found = await s3.client.send(new GetObjectCommand({ Bucket: "plain", Key: "here" }));
    expect(await found.Body?.transformToString()).toBe("newer");
  });

  it.each([
    ["a deleted object", async () => `${Bucket}/dead`, 404, "NoSuchKey"],
    ["no version", async () => `${Bucket}/odd?versionId=${"1".repeat(16)}`, 404, "NoSuchVersion"],
    ["no bucket", async () => "none/odd", 404, "NoSuchBucket"],
  ])("of %s is refused", async (_, sourceOf, status, name) => {
    await put("odd");
    await put("dead");
    await remove("dead");

    await expect(copy({ Key: "odd", CopySource: await sourceOf() })).rejects.toMatchObject({
      name,
      $metadata: { httpStatusCode: status },
    });
  });
});
