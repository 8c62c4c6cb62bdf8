import type { ListObjectVersionsCommandInput } from "@aws-sdk/client-s3";
import { describe, expect, it } from "vitest";
import { useS3 } from "../test/use-s3.ts";

const Bucket = "pictures";
const s3 = useS3([Bucket, "others"]);

const put = async (Key: string, Body = "an image", more = {}) =>
  (await s3.client.putObject({ Bucket, Key, Body, ...more })).VersionId ?? expect.fail();
const get = async (Key: string, VersionId?: string) => {
  const found = await s3.client.getObject({ Bucket, Key, VersionId });
  return { ...found, text: await found.Body?.transformToString() };
};
const remove = (Key: string, VersionId?: string) => s3.client.deleteObject({ Bucket, Key, VersionId });
const list = (input: Partial<ListObjectVersionsCommandInput>) => s3.client.listObjectVersions({ Bucket, ...input });
const copy = (CopySource: string, Key = "odd", to = Bucket) => s3.client.copyObject({ Bucket: to, Key, CopySource });

describe("A bucket with versions", () => {
  it("returns each version until it is deleted for good, from one start to the next", async () => {
    const first = await put("one", "first", { ContentType: "text/plain" });
    const second = await put("one", "second");
    await s3.restart();
    const third = await put("one", "third");

    expect(await get("one")).toMatchObject({ text: "third", VersionId: third });
    expect(await get("one", first)).toMatchObject({ text: "first", VersionId: first, ContentType: "text/plain" });
    expect(await s3.client.headObject({ Bucket, Key: "one", VersionId: second })).toMatchObject({
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
    expect(await get("two", version)).toMatchObject({ text: "an image" });

    expect(await remove("two", newest)).toMatchObject({ VersionId: newest, DeleteMarker: true });
    await expect(get("two")).rejects.toMatchObject({ name: "NoSuchKey" });
    await remove("two", older);
    expect(await get("two")).toMatchObject({ text: "an image", VersionId: version });
  });

  it("deletes many at once, some of them for good", async () => {
    const kept = await put("many/1");
    const gone = await put("many/2");
    const { VersionId: marker } = await remove("many/3");
    await s3.restart();

    const Objects = [{ Key: "many/1" }, { Key: "many/2", VersionId: gone }, { Key: "many/3", VersionId: marker }];
    await s3.client.deleteObjects({ Bucket, Delete: { Objects, Quiet: true } });

    const { Versions, DeleteMarkers } = await list({ Prefix: "many/" });
    expect(Versions?.map(({ Key, VersionId }) => [Key, VersionId])).toEqual([["many/1", kept]]);
    expect(DeleteMarkers?.map(({ Key }) => Key)).toEqual(["many/1"]);
  });

  it("lists versions by key, the newest first, encoded as in URLs where the AWS CLI wants that", async () => {
    const versions = [await put("list/a b&c"), await put("list/a b&c", "longer now"), await put("list/b")];
    const { VersionId: marker } = await remove("list/a b&c");

    const { Versions = [], DeleteMarkers = [], IsTruncated } = await list({ Prefix: "list/" });
    expect(Versions.map(({ Key, VersionId, IsLatest, Size }) => [Key, VersionId, IsLatest, Size])).toEqual([
      ["list/a b&c", versions[1], false, 10],
      ["list/a b&c", versions[0], false, 8],
      ["list/b", versions[2], true, 8],
    ]);
    expect(Versions[0]).toMatchObject({ ETag: expect.stringMatching(/^"\w{32}"$/), StorageClass: "STANDARD" });
    expect(DeleteMarkers).toMatchObject([{ Key: "list/a b&c", VersionId: marker, IsLatest: true }]);
    expect(IsTruncated).toBe(false);
    const coded = await list({ Prefix: "list/", EncodingType: "url" });
    expect([coded.EncodingType, coded.Versions?.[0]?.Key]).toEqual(["url", "list/a%20b%26c"]);
  });

  it("loses none of many versions that come at once", async () => {
    const texts = Array.from({ length: 30 }, (_, index) => `${index}`);
    const versions = await Promise.all(texts.map((each) => put("busy", each)));

    expect(new Set(versions).size).toBe(30);
    expect(await Promise.all(versions.map(async (each) => (await get("busy", each)).text))).toEqual(texts);
  });
});

describe("A copy", () => {
  it("makes an earlier version the newest again, with its headers and its ETag", async () => {
    const stored = { ContentType: "image/webp", CacheControl: "public, max-age=1", Metadata: { by: "a test" } };
    const first = await put("copied/a b", "first", stored);
    await remove("copied/a b");

    const { VersionId, CopySourceVersionId, CopyObjectResult } = await copy(
      `${Bucket}/copied/a%20b?versionId=${first}`,
      "copied/a b",
    );

    const found = await get("copied/a b");
    expect(CopySourceVersionId).toBe(first);
    expect(found).toMatchObject({ ...stored, text: "first", VersionId, ETag: CopyObjectResult?.ETag });
    expect(found.ETag).toBe((await get("copied/a b", first)).ETag);
    expect(VersionId).not.toBe(first);
  });

  it("takes the newest version of another bucket", async () => {
    await put("elsewhere", "older");
    await put("elsewhere", "newer");

    await copy(`/${Bucket}/elsewhere`, "here", "others");

    const { Body } = await s3.client.getObject({ Bucket: "others", Key: "here" });
    expect(await Body?.transformToString()).toBe("newer");
  });
});

it.each([
  ["a read of a version that cannot be", () => get("one", "first"), 400, "InvalidArgument"],
  ["a deletion of an empty version", () => remove("one", ""), 400, "InvalidArgument"],
  ["a page of versions", () => list({ MaxKeys: 1 }), 501, "NotImplemented"],
  ["a copy of a deleted object", () => copy(`${Bucket}/dead`), 404, "NoSuchKey"],
  ["a copy of no version", () => copy(`${Bucket}/odd?versionId=${"1".repeat(16)}`), 404, "NoSuchVersion"],
  ["a copy from no bucket", () => copy("none/odd"), 404, "NoSuchBucket"],
])("S3 refuses %s", async (_, call, httpStatusCode, name) => {
  await put("odd");
  await put("dead");
  await remove("dead");

  await expect(call()).rejects.toMatchObject({ name, $metadata: { httpStatusCode } });
});
