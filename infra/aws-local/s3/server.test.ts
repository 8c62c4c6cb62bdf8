import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type Key, newKey, signRequest } from "../http/signature.ts";
import { send } from "../test/send.ts";
import { useS3 } from "../test/use-s3.ts";

const Bucket = "images";
const object = { Bucket, Key: "avatars/one.webp" };
const s3 = useS3([Bucket]);
const forged = { ...newKey(), accessKeyId: s3.key.accessKeyId };

beforeEach(async () => {
  const folder = s3.folder(Bucket);
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
});

const put = (Key: string, Body: string | Buffer = "an image") => s3.client.putObject({ Bucket, Key, Body });
const get = async (Key: string) => (await s3.client.getObject({ Bucket, Key })).Body?.transformToString();
const keys = async () => {
  const { Versions = [] } = await s3.client.listObjectVersions({ Bucket });
  return Versions.filter(({ IsLatest }) => IsLatest).map(({ Key }) => Key);
};

/** Sends exactly this, signed unless the headers say otherwise. */
async function request(
  method: string,
  path: string,
  body = "",
  headers: Record<string, string | string[]> = {},
  by = s3.key,
) {
  const place = { host: new URL(s3.url).host, pathname: path, search: "" };
  const signed = signRequest("s3", by, place, method, Buffer.from(body));
  const { status, text } = await send(s3.url, path, { method, body, headers: { ...signed, ...headers } });
  return { status, code: /<Code>(\w+)<\/Code>/.exec(text)?.[1] };
}

describe("S3", () => {
  it("keeps everything from other users of the machine, also what they could read before", async () => {
    const folder = s3.folder(Bucket);
    await chmod(dirname(folder), 0o755);
    await s3.restart();
    await put("avatars/one.webp");

    const files = [
      dirname(folder),
      folder,
      ...(await readdir(folder, { recursive: true })).map((name) => join(folder, name)),
    ];
    const modes = await Promise.all(files.map(async (file) => ((await stat(file)).mode & 0o777).toString(8)));
    expect(modes).toEqual(["700", "700", "700", "600"]);
  });

  it("keeps an object's bytes and headers, from one start to the next", async () => {
    const Body = Buffer.from([0, 10, 255, 10]);
    const stored = { ContentType: "image/webp", CacheControl: "public, max-age=1", Metadata: { by: "a test" } };
    const { ETag } = await s3.client.putObject({ ...object, ...stored, Body });
    await s3.restart();

    const found = await s3.client.getObject(object);
    expect(found).toMatchObject({ ...stored, ETag, ContentLength: 4 });
    expect(Buffer.from((await found.Body?.transformToByteArray()) ?? [])).toEqual(Body);
    expect(Math.abs(Date.now() - Number(found.LastModified))).toBeLessThan(60_000);
    expect(await s3.client.headObject(object)).toMatchObject({ ...stored, ETag, ContentLength: 4 });
    await expect(s3.client.getObject({ ...object, IfNoneMatch: ETag })).rejects.toMatchObject({
      $metadata: { httpStatusCode: 304 },
    });
  });

  it("replaces and deletes objects, and deletes what is not there", async () => {
    await put("one", "old");
    await put("one", "new");
    expect(await get("one")).toBe("new");

    for (const _ of [1, 2])
      expect(await s3.client.deleteObject({ Bucket, Key: "one" })).toMatchObject({
        $metadata: { httpStatusCode: 204 },
      });
    await expect(get("one")).rejects.toMatchObject({ name: "NoSuchKey", $metadata: { httpStatusCode: 404 } });
    await expect(s3.client.headObject({ Bucket, Key: "one" })).rejects.toMatchObject({ name: "NotFound" });
    await expect(s3.client.getObject({ Bucket: "other", Key: "one" })).rejects.toMatchObject({ name: "NoSuchBucket" });
  });

  it("takes any key, and writes nothing outside of its folder", async () => {
    const all = ["../../up", "/", ".", "..", "a/../b", "a\\b", "Ä <&\"'> \n\u0001%2f", "a/b", "A/b", "a/b/"];
    for (const each of all)
      expect((await request("PUT", `/images/${encodeURIComponent(each)}`, each)).status).toBe(200);

    expect(await keys()).toEqual(all.toSorted());
    expect(await get("Ä <&\"'> \n\u0001%2f")).toBe("Ä <&\"'> \n\u0001%2f");
    expect(existsSync(join(s3.folder(Bucket), "../../up.versions"))).toBe(false);
    const Objects = [...all, "no"].map((Key) => ({ Key }));
    await s3.client.deleteObjects({ Bucket, Delete: { Objects, Quiet: true } });
    expect(await keys()).toEqual([]);
  });

  const digits = { Bucket, Key: "digits" };

  it.each([
    ["bytes=2-4", "234", "bytes 2-4/10"],
    ["bytes=7-", "789", "bytes 7-9/10"],
    ["bytes=8-100", "89", "bytes 8-9/10"],
  ])("returns the range %s", async (Range, part, ContentRange) => {
    const { ETag } = await put("digits", "0123456789");

    const found = await s3.client.getObject({ ...digits, Range, IfMatch: ETag });

    expect(found).toMatchObject({ ContentRange, ContentLength: part.length, $metadata: { httpStatusCode: 206 } });
    expect(await found.Body?.transformToString()).toBe(part);
    expect((await s3.client.headObject({ ...digits, Range })).ContentLength).toBe(part.length);
  });

  it.each([
    ["InvalidRange", 416, { Range: "bytes=10-" }],
    ["NotImplemented", 501, { Range: "bytes=-3" }],
    ["NotImplemented", 501, { Range: "bytes=0-1,4-5" }],
    ["PreconditionFailed", 412, { IfMatch: '"0"' }],
  ])("refuses a read by %s: %i %j", async (name, httpStatusCode, input) => {
    await put("digits", "0123456789");

    const read = s3.client.getObject({ ...digits, ...input });

    await expect(read).rejects.toMatchObject({ name, $metadata: { httpStatusCode } });
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
    await rm(join(folder, "avatars"), { recursive: true });
  });

  it.each<[string, string, string, Record<string, string | string[]>, number, string, Key?]>([
    ["without a signature", "PUT", "/images/x", { authorization: [] }, 403, "AccessDenied"],
    ["a read without a signature", "GET", "/images/x", { authorization: [] }, 403, "AccessDenied"],
    ["another key", "PUT", "/images/x", {}, 403, "InvalidAccessKeyId", newKey()],
    ["another secret", "PUT", "/images/x", {}, 403, "SignatureDoesNotMatch", forged],
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
  ])("refuses %s", async (_, method, path, headers, status, code, by) => {
    expect(await request(method, path, method === "GET" ? "" : "an image", headers, by)).toEqual({ status, code });
    expect(await keys()).toEqual([]);
  });

  it("refuses another body than was signed", async () => {
    const place = { host: new URL(s3.url).host, pathname: "/images/x", search: "" };
    const signed = signRequest("s3", s3.key, place, "PUT", Buffer.from("another image"));

    expect(await request("PUT", "/images/x", "an image", { ...signed })).toEqual({
      status: 400,
      code: "XAmzContentSHA256Mismatch",
    });
  });
});
