import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ListObjectVersionsCommandInput } from "@aws-sdk/client-s3";
import { beforeEach, describe, expect, it } from "vitest";
import { type Key, newKey, signRequest } from "../http/signature.ts";
import { send } from "../test/send.ts";
import { useS3 } from "../test/use-s3.ts";

const Bucket = "images";
const s3 = useS3([Bucket, "others"]);
const stored = { ContentType: "image/webp", CacheControl: "public, max-age=1", Metadata: { by: "a test" } };

beforeEach(async () => {
  const folder = s3.folder(Bucket);
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
});

const put = async (Key: string, Body: string | Buffer = "an image", more = {}) =>
  (await s3.client.putObject({ Bucket, Key, Body, ...more })).VersionId ?? expect.fail();
const get = async (Key: string, VersionId?: string, more = {}) => {
  const found = await s3.client.getObject({ Bucket, Key, VersionId, ...more });
  return { ...found, text: await found.Body?.transformToString("latin1") };
};
const head = (Key: string, more = {}) => s3.client.headObject({ Bucket, Key, ...more });
const remove = (Key: string, VersionId?: string) => s3.client.deleteObject({ Bucket, Key, VersionId });
const removeAll = (...Objects: { Key: string; VersionId?: string | undefined }[]) =>
  s3.client.deleteObjects({ Bucket, Delete: { Objects, Quiet: true } });
const list = (input: Partial<ListObjectVersionsCommandInput> = {}) =>
  s3.client.listObjectVersions({ Bucket, ...input });
const copy = (CopySource: string, Key = "odd", to = Bucket) => s3.client.copyObject({ Bucket: to, Key, CopySource });
const keys = async () => {
  const { Versions = [] } = await list();
  return Versions.filter(({ IsLatest }) => IsLatest).map(({ Key }) => Key);
};

/** Sends exactly this, signed unless the headers say otherwise. */
async function request(method: string, path: string, body = "", headers: object = {}, by = s3.key) {
  const place = { host: new URL(s3.server.url).host, pathname: path, search: "" };
  const signed = signRequest("s3", by, place, method, Buffer.from(body));
  const { status, text } = await send(s3.server.url, path, { method, body, headers: { ...signed, ...headers } });
  return { status, code: /<Code>(\w+)<\/Code>/.exec(text)?.[1] };
}

describe("S3", () => {
  it("keeps everything from other users of the machine, also what they could read before", async () => {
    const folder = s3.folder(Bucket);
    await chmod(dirname(folder), 0o755);
    await s3.restart();
    await put("avatars/one.webp");

    const inside = (await readdir(folder, { recursive: true })).map((name) => join(folder, name));
    const files = [dirname(folder), folder, ...inside];
    const modes = await Promise.all(files.map(async (file) => ((await stat(file)).mode & 0o777).toString(8)));
    expect(modes).toEqual(["700", "700", "700", "600"]);
  });

  it("keeps each version with its bytes and headers until it is deleted for good, from one start to the next", async () => {
    const first = await put("one", Buffer.from([0, 10, 255, 10]), stored);
    const second = await put("one", "second");
    await s3.restart();
    const third = await put("one", "third");

    const found = await get("one", first);
    expect(found).toMatchObject({ ...stored, text: "\0\n\xff\n", ContentLength: 4, VersionId: first });
    expect(Math.abs(Date.now() - Number(found.LastModified))).toBeLessThan(60_000);
    expect(await head("one", { VersionId: first })).toMatchObject({ ...stored, ETag: found.ETag, ContentLength: 4 });
    expect(await get("one")).toMatchObject({ text: "third", VersionId: third });

    const { VersionId, DeleteMarker } = await remove("one", third);
    expect([VersionId, DeleteMarker]).toEqual([third, undefined]);
    expect(await get("one")).toMatchObject({ text: "second", VersionId: second });
  });

  it("deletes an object by a marker, each time by another one, and has it again without them", async () => {
    const version = await put("two");
    const [older, newest] = [await remove("two"), await remove("two")];

    for (const each of [older, newest])
      expect(each).toMatchObject({ DeleteMarker: true, $metadata: { httpStatusCode: 204 } });
    expect(older.VersionId).not.toBe(newest.VersionId);
    await expect(get("two")).rejects.toMatchObject({ name: "NoSuchKey", $metadata: { httpStatusCode: 404 } });
    await expect(head("two")).rejects.toMatchObject({ name: "NotFound" });
    await expect(get("two", newest.VersionId)).rejects.toMatchObject({ $metadata: { httpStatusCode: 405 } });
    expect(await get("two", version)).toMatchObject({ text: "an image" });

    expect(await remove("two", newest.VersionId)).toMatchObject({ VersionId: newest.VersionId, DeleteMarker: true });
    await expect(get("two")).rejects.toMatchObject({ name: "NoSuchKey" });
    await remove("two", older.VersionId);
    expect(await get("two")).toMatchObject({ text: "an image", VersionId: version });
  });

  it("takes any key, writes nothing outside of its folder, and deletes many at once, some of them for good", async () => {
    const odd = "Ä <&\"'> \n\u0001%2f";
    const all = ["../../up", "/", ".", "..", "a/../b", "a\\b", odd, "a/b", "A/b", "a/b/"];
    for (const each of all)
      expect((await request("PUT", `/images/${encodeURIComponent(each)}`, each)).status).toBe(200);

    expect(await keys()).toEqual(all.toSorted());
    expect(Buffer.from((await get(odd)).text ?? "", "latin1").toString()).toBe(odd);
    expect(existsSync(join(s3.folder(Bucket), "../../up.versions"))).toBe(false);
    const VersionId = (await list({ Prefix: "/" })).Versions?.[0]?.VersionId;
    await removeAll(...all.map((Key) => (Key === "/" ? { Key, VersionId } : { Key })), { Key: "no" });
    expect(await keys()).toEqual([]);
    const { Versions = [], DeleteMarkers = [] } = await list();
    const others = [...all.filter((key) => key !== "/"), "no"];
    expect([Versions.length, DeleteMarkers.map(({ Key }) => Key)]).toEqual([9, others.toSorted()]);

    await removeAll(...DeleteMarkers.map(({ Key = "", VersionId }) => ({ Key, VersionId })));
    expect(await keys()).toEqual(all.filter((key) => key !== "/").toSorted());
  });

  it("lists versions by key, the newest first", async () => {
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
  });

  it("loses none of many versions that come at once", async () => {
    const texts = Array.from({ length: 30 }, (_, index) => `${index}`);
    const versions = await Promise.all(texts.map((each) => put("busy", each)));

    expect(new Set(versions).size).toBe(30);
    expect(await Promise.all(versions.map(async (each) => (await get("busy", each)).text))).toEqual(texts);
  });

  it("copies an earlier version, with its headers and its ETag, and the newest one to another bucket", async () => {
    const first = await put("copied/a b", "first", stored);
    await put("copied/a b", "newer");

    await copy(`/${Bucket}/copied/a%20b`, "here", "others");
    const result = await copy(`${Bucket}/copied/a%20b?versionId=${first}`, "copied/a b");

    const { CopySourceVersionId, VersionId, CopyObjectResult } = result;
    expect(CopySourceVersionId).toBe(first);
    expect(VersionId).not.toBe(first);
    const { ETag } = await get("copied/a b", first);
    expect(await get("copied/a b")).toMatchObject({ ...stored, text: "first", VersionId, ETag });
    expect(CopyObjectResult?.ETag).toBe(ETag);
    expect(await get("here", undefined, { Bucket: "others" })).toMatchObject({ text: "newer" });
  });

  it.each([
    ["bytes=2-4", "234", "bytes 2-4/10"],
    ["bytes=7-", "789", "bytes 7-9/10"],
    ["bytes=8-100", "89", "bytes 8-9/10"],
  ])("returns the range %s", async (Range, text, ContentRange) => {
    await put("digits", "0123456789");
    const { ETag } = await head("digits");

    const found = await get("digits", undefined, { Range, IfMatch: ETag });

    expect(found).toMatchObject({ text, ContentRange, ContentLength: text.length, $metadata: { httpStatusCode: 206 } });
    expect((await head("digits", { Range })).ContentLength).toBe(text.length);
  });

  it("ignores what a killed process or another program has left in its folder", async () => {
    const folder = s3.folder(Bucket);
    await put("one");
    await mkdir(join(folder, "avatars"));
    await writeFile(join(folder, "avatars", "one.webp._S3rver_object"), "an image");
    await writeFile(join(folder, "half.unfinished"), "an im");
    await s3.restart();

    expect(await keys()).toEqual(["one"]);
    expect(existsSync(join(folder, "half.unfinished"))).toBe(false);
  });
});

const noVersion = "1".repeat(16);
const imageETag = `"${hash("md5", "an image")}"`;
const impostor = { ...newKey(), accessKeyId: s3.key.accessKeyId };

describe("S3 refuses", () => {
  it.each<[string, () => Promise<unknown>, number, string]>([
    ["a read of no version", () => get("odd", noVersion), 404, "NoSuchVersion"],
    ["a read of a version that cannot be", () => get("odd", "first"), 400, "InvalidArgument"],
    ["a read from no bucket", () => get("odd", undefined, { Bucket: "none" }), 404, "NoSuchBucket"],
    ["a read of what has not changed", () => get("odd", undefined, { IfNoneMatch: imageETag }), 304, "Unknown"],
    ["a read of another ETag", () => get("odd", undefined, { IfMatch: '"0"' }), 412, "PreconditionFailed"],
    ["a range behind the end", () => get("odd", undefined, { Range: "bytes=10-" }), 416, "InvalidRange"],
    ["a range from the end", () => get("odd", undefined, { Range: "bytes=-3" }), 501, "NotImplemented"],
    ["several ranges", () => get("odd", undefined, { Range: "bytes=0-1,4-5" }), 501, "NotImplemented"],
    ["a deletion of an empty version", () => remove("odd", ""), 400, "InvalidArgument"],
    ["a page of versions", () => list({ MaxKeys: 1 }), 501, "NotImplemented"],
    ["a copy of a deleted object", () => copy(`${Bucket}/dead`), 404, "NoSuchKey"],
    ["a copy of no version", () => copy(`${Bucket}/odd?versionId=${noVersion}`), 404, "NoSuchVersion"],
    ["a copy from no bucket", () => copy("none/odd"), 404, "NoSuchBucket"],
  ])("%s", async (_, call, httpStatusCode, name) => {
    await put("odd");
    await put("dead");
    await remove("dead");

    await expect(call()).rejects.toMatchObject({ name, $metadata: { httpStatusCode } });
  });

  it.each<[string, string, string, object, number, string, Key?]>([
    ["no signature", "PUT", "/images/x", { authorization: [] }, 403, "AccessDenied"],
    ["another key", "PUT", "/images/x", {}, 403, "InvalidAccessKeyId", newKey()],
    ["another secret", "PUT", "/images/x", {}, 403, "SignatureDoesNotMatch", impostor],
    ["no signature of AWS", "PUT", "/images/x", { authorization: "Bearer x" }, 400, "AuthorizationHeaderMalformed"],
    ["another hash than was signed", "PUT", "/images/x", { "x-amz-content-sha256": "0" }, 403, "SignatureDoesNotMatch"],
    ["a page of another host", "PUT", "/images/x", { origin: "https://evil.example.com" }, 403, "AccessDenied"],
    ["another host's name", "PUT", "/images/x", { host: "evil.example.com" }, 403, "AccessDenied"],
    ["a bucket of another account", "PUT", "/images/x", { "x-amz-expected-bucket-owner": "1" }, 403, "AccessDenied"],
    ["a path that is not encoded", "PUT", "/images/x%", {}, 400, "InvalidURI"],
    ["a copy with other headers", "PUT", "/images/x", { "x-amz-metadata-directive": "REPLACE" }, 501, "NotImplemented"],
    ["a storage class", "PUT", "/images/x", { "x-amz-storage-class": "GLACIER" }, 501, "NotImplemented"],
    ["a condition", "PUT", "/images/x", { "if-none-match": "*" }, 501, "NotImplemented"],
    ["a key of 1,000 characters", "PUT", `/images/${"a".repeat(1_000)}`, {}, 400, "KeyTooLongError"],
    ["tags", "PUT", "/images/x?tagging=", {}, 501, "NotImplemented"],
    ["a read by date", "GET", "/images/x", { "if-modified-since": "now" }, 501, "NotImplemented"],
    ["a form", "POST", "/images", {}, 501, "NotImplemented"],
    ["a deletion of nothing", "POST", "/images?delete=", {}, 400, "MalformedXML"],
    ["no bucket", "GET", "/", {}, 501, "NotImplemented"],
  ])("%s", async (_, method, path, headers, status, code, by) => {
    expect(await request(method, path, method === "GET" ? "" : "an image", headers, by)).toEqual({ status, code });
    expect(await keys()).toEqual([]);
  });

  it("another body than was signed", async () => {
    const place = { host: new URL(s3.server.url).host, pathname: "/images/x", search: "" };
    const signed = signRequest("s3", s3.key, place, "PUT", Buffer.from("another image"));
    const refused = { status: 400, code: "XAmzContentSHA256Mismatch" };

    expect(await request("PUT", "/images/x", "an image", signed)).toEqual(refused);
  });
});

const partBytesMin = 5 * 1_048_576;
const large = Buffer.alloc(partBytesMin, "a");

interface Place {
  readonly Bucket: string;
  readonly Key: string;
  readonly UploadId: string | undefined;
}

const begin = async (Key: string): Promise<Place> => {
  return { Bucket, Key, UploadId: (await s3.client.createMultipartUpload({ Bucket, Key, ...stored })).UploadId };
};
const upload = async (place: Place, PartNumber: number, Body: Buffer) => {
  const { ETag } = await s3.client.uploadPart({ ...place, PartNumber, Body });
  return { PartNumber, ETag };
};
const complete = (place: Place, Parts: { PartNumber: number; ETag: string | undefined }[]) =>
  s3.client.completeMultipartUpload({ ...place, MultipartUpload: { Parts } });
const unfinished = async () => (await readdir(s3.folder(Bucket))).filter((name) => name.endsWith(".unfinished"));

describe("An upload in parts", () => {
  it("becomes an object when it is completed, of the parts that are named", async () => {
    const place = await begin("large");
    const last = await upload(place, 7, Buffer.from("end"));
    await upload(place, 3, large);
    await upload(place, 2, Buffer.alloc(partBytesMin, "x"));
    const first = await upload(place, 2, Buffer.concat([Buffer.from("begin"), large]));
    expect(await keys()).toEqual([]);

    const { ETag } = await complete(place, [first, last]);

    const { text, ...found } = await get("large");
    expect(found).toMatchObject({ ...stored, ETag });
    expect(ETag).toMatch(/^"[0-9a-f]{32}-2"$/);
    expect(text === `begin${large}end`).toBe(true);
    expect(await unfinished()).toEqual([]);
    await expect(complete(place, [first, last])).rejects.toMatchObject({ name: "NoSuchUpload" });
  });

  it("leaves nothing when it is aborted", async () => {
    const place = await begin("aborted");
    const part = await upload(place, 1, large);

    const yours = upload({ ...place, Key: "yours" }, 1, large);
    await expect(yours, "of another key").rejects.toMatchObject({ name: "NoSuchUpload" });

    await s3.client.abortMultipartUpload(place);

    expect(await unfinished()).toEqual([]);
    await expect(complete(place, [part])).rejects.toMatchObject({ name: "NoSuchUpload" });
    await expect(upload(place, 2, large)).rejects.toMatchObject({ name: "NoSuchUpload" });
    expect(await keys()).toEqual([]);
  });

  it("is dropped at the next start", async () => {
    const place = await begin("dropped");
    await upload(place, 1, large);
    expect(await unfinished()).toHaveLength(1);

    await s3.restart();

    expect(await unfinished()).toEqual([]);
    await expect(upload(place, 2, large)).rejects.toMatchObject({ name: "NoSuchUpload" });
  });

  it.each([
    ["a part that was not uploaded", "InvalidPart", [1, 3]],
    ["a small part before the last", "EntityTooSmall", [2, 4]],
    ["no part", "MalformedXML", []],
  ])("is not completed with %s, but can be later", async (_, name, numbers) => {
    const place = await begin("later");
    const parts = new Map([
      [1, await upload(place, 1, large)],
      [2, await upload(place, 2, Buffer.from("small"))],
      [4, await upload(place, 4, large)],
    ]);
    const named = numbers.map((PartNumber) => parts.get(PartNumber) ?? { PartNumber, ETag: '"0"' });

    await expect(complete(place, named)).rejects.toMatchObject({ name, $metadata: { httpStatusCode: 400 } });

    await complete(place, [...parts.values()].slice(0, 2));
  });
});
