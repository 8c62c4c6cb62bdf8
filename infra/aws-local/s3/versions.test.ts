import { mkdir, readdir, writeFile } from "node:fs/promises";
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

/** The headers of an error, which the SDK does not parse. */
const headersOf = async (answer: Promise<unknown>) => {
  const error = await answer.then(
    () => expect.fail("no error"),
    (each) => each,
  );
  return error.$response.headers as Record<string, string>;
};

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
    const gone = { "x-amz-delete-marker": "true", "x-amz-version-id": newest };
    expect(await headersOf(get("two"))).toMatchObject(gone);
    expect(await headersOf(s3.client.send(new HeadObjectCommand({ Bucket, Key: "two" })))).toMatchObject(gone);
    await expect(get("two", newest)).rejects.toMatchObject({ $metadata: { httpStatusCode: 405 } });
    expect(await headersOf(get("two", newest))).toMatchObject({ ...gone, allow: "DELETE" });
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

  it("lists versions by key, the newest first, in pages", async () => {
    const versions = [await put("list/a"), await put("list/a", "longer now"), await put("list/b")];
    const { VersionId: marker } = await remove("list/a");
    await put("other");

    const { Versions = [], DeleteMarkers = [], IsTruncated } = await list({ Prefix: "list/" });
    expect(Versions.map(({ Key, VersionId, IsLatest, Size }) => [Key, VersionId, IsLatest, Size])).toEqual([
      ["list/a", versions[1], false, 10],
      ["list/a", versions[0], false, 8],
      ["list/b", versions[2], true, 8],
    ]);
    expect(Versions[0]).toMatchObject({ ETag: expect.stringMatching(/^"\w{32}"$/), StorageClass: "STANDARD" });
    expect(DeleteMarkers).toMatchObject([{ Key: "list/a", VersionId: marker, IsLatest: true }]);
    expect(IsTruncated).toBe(false);

    const pages = [];
    for (let next: Partial<ListObjectVersionsCommandInput> | undefined = {}; next; ) {
      const page = await list({ Prefix: "list/", MaxKeys: 1, ...next });
      pages.push(...(page.Versions ?? []), ...(page.DeleteMarkers ?? []));
      const { NextKeyMarker: KeyMarker, NextVersionIdMarker: VersionIdMarker } = page;
      next = page.IsTruncated ? { KeyMarker, VersionIdMarker } : undefined;
    }
    expect(pages.map(({ VersionId }) => VersionId)).toEqual([marker, versions[1], versions[0], versions[2]]);
    const behind = await list({ Prefix: "list/", KeyMarker: "list/a" });
    expect([...(behind.Versions ?? []), ...(behind.DeleteMarkers ?? [])].map(({ Key }) => Key)).toEqual(["list/b"]);
  });

  it("lists keys encoded as in URLs, as the AWS CLI wants them", async () => {
    await put("coded/a b&c");
    await put("coded/\u0001");

    const { Versions, EncodingType, NextKeyMarker } = await list({ Prefix: "coded/", EncodingType: "url", MaxKeys: 1 });

    expect(Versions?.map(({ Key }) => Key)).toEqual(["coded/%01"]);
    expect([EncodingType, NextKeyMarker]).toEqual(["url", "coded/%01"]);
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

  it("makes a version that is newer than those of a clock that was ahead", async () => {
    await mkdir(join(s3.folder(Bucket), "ahead.versions"));
    await writeFile(join(s3.folder(Bucket), "ahead.versions", "8999999999999999.marker"), '{"last-modified":"2255"}\n');

    await put("ahead", "now");

    expect(await get("ahead")).toMatchObject({ text: "now" });
  });

  it("takes any key, and writes nothing outside of its folder", async () => {
    const all = ["../../up", "..", "odd/.", "odd/a.versions", "odd/a.object", "odd/%2f"];
    for (const each of all) await put(each, each);

    for (const each of all) expect(await get(each)).toMatchObject({ text: each });
    const { Versions } = await list({ Prefix: "odd/" });
    expect(Versions?.map(({ Key }) => Key)).toEqual(all.slice(2).toSorted());
    expect(await readdir(join(s3.folder(Bucket), ".."))).toEqual([Bucket, "plain"]);
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
    ["a version's marker without a key", () => list({ VersionIdMarker: "null" }), 400, "InvalidArgument"],
    ["an encoding that there is not", () => list({ EncodingType: "none" as "url" }), 400, "InvalidArgument"],
    ["a page of no number", () => list({ MaxKeys: -1 }), 400, "InvalidArgument"],
  ])("refuses %s", async (_, ask, status, name) => {
    await expect(ask()).rejects.toMatchObject({ name, $metadata: { httpStatusCode: status } });
  });
});

describe("A bucket that keeps versions for 30 days", () => {
  const day = 24 * 60 * 60_000;
  const expiring = useS3([{ name: Bucket, versioned: true, noncurrentDays: 30 }]);
  const idOf = (ageInDays: number) => `${(Date.now() - ageInDays * day) * 1_000}`;
  /** Stores versions of an object by their ages in days, and returns those that are left after a start. */
  const left = async (name: string, versions: Readonly<Record<number, "object" | "marker">>) => {
    const folder = join(expiring.folder(Bucket), `${name}.versions`);
    const ages = new Map(Object.entries(versions).map(([age]) => [idOf(Number(age)), Number(age)]));
    await mkdir(folder);
    for (const [id, age] of ages) await writeFile(join(folder, `${id}.${versions[age]}`), "{}\n");
    await expiring.restart();
    const names = await readdir(folder).catch(() => []);
    return names.map((each) => ages.get(each.slice(0, 16))).sort();
  };

  it("deletes a version when the one that replaced it is so old", async () => {
    expect(await left("replaced", { 90: "object", 31: "object", 29: "object", 1: "object" })).toEqual([1, 29, 31]);
  });

  it("deletes neither an object that is there, nor a version whose delete marker is younger", async () => {
    expect(await left("there", { 90: "object" })).toEqual([90]);
    expect(await left("young", { 90: "object", 29: "marker" })).toEqual([29, 90]);
  });

  it("deletes a delete marker with what it hides", async () => {
    expect(await left("hidden", { 90: "object", 32: "marker", 31: "marker" })).toEqual([]);
    expect(await left("again", { 90: "object", 31: "marker", 3: "marker" })).toEqual([3, 31]);
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
    ["itself", async () => `${Bucket}/odd`, 400, "InvalidRequest"],
    ["a deleted object", async () => `${Bucket}/dead`, 404, "NoSuchKey"],
    [
      "a delete marker",
      async () => `${Bucket}/dead?versionId=${(await remove("dead")).VersionId}`,
      400,
      "InvalidRequest",
    ],
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
