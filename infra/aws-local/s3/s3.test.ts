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
    { range: "bytes=2-4", text: "234", contentRange: "bytes 2-4/10" },
    { range: "bytes=7-", text: "789", contentRange: "bytes 7-9/10" },
    { range: "bytes=8-100", text: "89", contentRange: "bytes 8-9/10" },
  ])("returns the range $range", async ({ range, text, contentRange }) => {
    await put("digits", "0123456789");
    const { ETag } = await head("digits");

    const found = await get("digits", undefined, { Range: range, IfMatch: ETag });

    expect(found).toMatchObject({
      text,
      ContentRange: contentRange,
      ContentLength: text.length,
      $metadata: { httpStatusCode: 206 },
    });
    expect((await head("digits", { Range: range })).ContentLength).toBe(text.length);
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
  it.each<{ what: string; call: () => Promise<unknown>; status: number; error: string }>([
    { what: "a read of no version", call: () => get("odd", noVersion), status: 404, error: "NoSuchVersion" },
    {
      what: "a read of a version that cannot be",
      call: () => get("odd", "first"),
      status: 400,
      error: "InvalidArgument",
    },
    {
      what: "a read from no bucket",
      call: () => get("odd", undefined, { Bucket: "none" }),
      status: 404,
      error: "NoSuchBucket",
    },
    {
      what: "a read of what has not changed",
      call: () => get("odd", undefined, { IfNoneMatch: imageETag }),
      status: 304,
      error: "Unknown",
    },
    {
      what: "a read of another ETag",
      call: () => get("odd", undefined, { IfMatch: '"0"' }),
      status: 412,
      error: "PreconditionFailed",
    },
    {
      what: "a range behind the end",
      call: () => get("odd", undefined, { Range: "bytes=10-" }),
      status: 416,
      error: "InvalidRange",
    },
    {
      what: "a range from the end",
      call: () => get("odd", undefined, { Range: "bytes=-3" }),
      status: 501,
      error: "NotImplemented",
    },
    {
      what: "several ranges",
      call: () => get("odd", undefined, { Range: "bytes=0-1,4-5" }),
      status: 501,
      error: "NotImplemented",
    },
    { what: "a deletion of an empty version", call: () => remove("odd", ""), status: 400, error: "InvalidArgument" },
    { what: "a page of versions", call: () => list({ MaxKeys: 1 }), status: 501, error: "NotImplemented" },
    { what: "a copy of a deleted object", call: () => copy(`${Bucket}/dead`), status: 404, error: "NoSuchKey" },
    {
      what: "a copy of no version",
      call: () => copy(`${Bucket}/odd?versionId=${noVersion}`),
      status: 404,
      error: "NoSuchVersion",
    },
    { what: "a copy from no bucket", call: () => copy("none/odd"), status: 404, error: "NoSuchBucket" },
  ])("$what with $status", async ({ call, status, error }) => {
    await put("odd");
    await put("dead");
    await remove("dead");

    await expect(call()).rejects.toMatchObject({ name: error, $metadata: { httpStatusCode: status } });
  });

  interface Refused {
    readonly what: string;
    readonly method?: string;
    readonly path?: string;
    readonly headers?: object;
    readonly status: number;
    readonly code: string;
    readonly by?: Key;
  }

  it.each<Refused>([
    { what: "no signature", headers: { authorization: [] }, status: 403, code: "AccessDenied" },
    { what: "another key", status: 403, code: "InvalidAccessKeyId", by: newKey() },
    { what: "another secret", status: 403, code: "SignatureDoesNotMatch", by: impostor },
    {
      what: "no signature of AWS",
      headers: { authorization: "Bearer x" },
      status: 400,
      code: "AuthorizationHeaderMalformed",
    },
    {
      what: "another hash than was signed",
      headers: { "x-amz-content-sha256": "0" },
      status: 403,
      code: "SignatureDoesNotMatch",
    },
    {
      what: "a page of another host",
      headers: { origin: "https://evil.example.com" },
      status: 403,
      code: "AccessDenied",
    },
    { what: "another host's name", headers: { host: "evil.example.com" }, status: 403, code: "AccessDenied" },
    {
      what: "a bucket of another account",
      headers: { "x-amz-expected-bucket-owner": "1" },
      status: 403,
      code: "AccessDenied",
    },
    { what: "a path that is not encoded", path: "/images/x%", status: 400, code: "InvalidURI" },
    {
      what: "a copy with other headers",
      headers: { "x-amz-metadata-directive": "REPLACE" },
      status: 501,
      code: "NotImplemented",
    },
    { what: "a storage class", headers: { "x-amz-storage-class": "GLACIER" }, status: 501, code: "NotImplemented" },
    { what: "a condition", headers: { "if-none-match": "*" }, status: 501, code: "NotImplemented" },
    { what: "a key of 1,000 characters", path: `/images/${"a".repeat(1_000)}`, status: 400, code: "KeyTooLongError" },
    { what: "tags", path: "/images/x?tagging=", status: 501, code: "NotImplemented" },
    {
      what: "a read by date",
      method: "GET",
      headers: { "if-modified-since": "now" },
      status: 501,
      code: "NotImplemented",
    },
    { what: "a form", method: "POST", path: "/images", status: 501, code: "NotImplemented" },
    { what: "a deletion of nothing", method: "POST", path: "/images?delete=", status: 400, code: "MalformedXML" },
    { what: "no bucket", method: "GET", path: "/", status: 501, code: "NotImplemented" },
  ])("$what with $status", async ({ method = "PUT", path = "/images/x", headers = {}, status, code, by }) => {
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
    { what: "a part that was not uploaded", name: "InvalidPart", numbers: [1, 3] },
    { what: "a small part before the last", name: "EntityTooSmall", numbers: [2, 4] },
    { what: "no part", name: "MalformedXML", numbers: [] },
  ])("is not completed with $what, but can be later", async ({ name, numbers }) => {
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
