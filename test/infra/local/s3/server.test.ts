import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Key, newKey, signatureHeaders } from "../../../../infra/aws-local/http/signature.ts";
import { type S3, startS3 } from "../../../../infra/aws-local/s3/server.ts";
import { hasImage, imageBucket } from "../../../../infra/local/image-bucket.ts";
import { key } from "../../../support/environment.ts";
import { captured, send } from "../fixtures.ts";

let directory: string;
let s3: S3;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colophon-s3-"));
  s3 = await startS3({ directory: join(directory, "s3"), key });
});

afterAll(async () => {
  await s3.close();
  await rm(directory, { recursive: true });
});

const settings = { region: "eu-central-1", forcePathStyle: true, maxAttempts: 1 };
const clientOf = ({ url }: S3, credentials: Key = key) => new S3Client({ ...settings, credentials, endpoint: url });
const object = { Bucket: imageBucket, Key: "avatars/one.webp" };

/** An upload as the SDK sends it. */
const uploadBy = (credentials: Key = key) =>
  captured((requestHandler) =>
    new S3Client({ ...settings, credentials, endpoint: s3.url, requestHandler }).send(
      new PutObjectCommand({ ...object, Body: "an image" }),
    ),
  );

async function errorOf(request: Awaited<ReturnType<typeof uploadBy>>) {
  const { status, text } = await send(s3.url, request.path, request);
  return [status, /<Code>(\w+)<\/Code>/.exec(text)?.[1], await hasImage(join(directory, "s3"), object.Key)];
}

/** Sends exactly this path, signed. */
function sign(method: string, path: string, body = "", more: Readonly<Record<string, string>> = {}) {
  const place = { host: new URL(s3.url).host, pathname: path, search: "" };
  const headers = { ...signatureHeaders("s3", key, place, method, Buffer.from(body)), ...more };
  return send(s3.url, path, { method, body, headers });
}

describe("S3", () => {
  it("refuses another key, such as that of an earlier start", async () => {
    expect(await errorOf(await uploadBy(newKey()))).toEqual([403, "InvalidAccessKeyId", false]);
  });

  it("refuses another secret, and another body or path than was signed", async () => {
    const other = await uploadBy({ ...newKey(), accessKeyId: key.accessKeyId });
    const upload = await uploadBy();

    expect(await errorOf(other)).toEqual([403, "SignatureDoesNotMatch", false]);
    expect(await errorOf({ ...upload, path: "/images/avatars/two.webp" })).toEqual([
      403,
      "SignatureDoesNotMatch",
      false,
    ]);
    expect(await errorOf({ ...upload, body: "an Image" })).toEqual([400, "XAmzContentSHA256Mismatch", false]);
  });

  it("refuses what is not signed, reads included", async () => {
    await clientOf(s3).send(new PutObjectCommand({ ...object, Body: "an image" }));
    const place = `/${imageBucket}/${object.Key}`;

    for (const method of ["GET", "HEAD", "PUT", "DELETE"])
      expect((await send(s3.url, place, { method })).status).toBe(403);
    expect((await send(s3.url, "/")).status).toBe(403);
    expect(await hasImage(join(directory, "s3"), object.Key)).toBe(true);
  });

  it.each([{ host: "evil.example.com" }, { origin: "https://evil.example.com" }])(
    "refuses pages in browsers, whatever they sign: %o",
    async (header) => {
      const upload = await uploadBy();

      const { status } = await send(s3.url, upload.path, { ...upload, headers: { ...upload.headers, ...header } });

      expect(status).toBe(403);
    },
  );

  it.each([
    "/images/..%2f..%2fescaped",
    "/images/%2e%2e/%2E%2e/escaped",
    "/images/../../escaped",
    "/images/avatars/..%2f..%2f..%2fescaped",
    "/..%2fescaped/x",
    "/images/..%5c..%5cescaped",
    "/images/escaped%00",
    "/images/escaped%",
    "/images/x?partNumber=1&uploadId=..%2f..%2f..%2fescaped",
  ])("answers 400 to PUT %s, and writes nothing", async (path) => {
    const { status } = await sign("PUT", path, "outside");

    expect(status).toBe(400);
    expect(existsSync(join(directory, "escaped._S3rver_object"))).toBe(false);
  });

  it.each(["../../outside", "..&#47;..&sol;outside", "&period;./../outside", "<![CDATA[../../outside]]>"])(
    "answers 400 to the deletion of %s, and deletes nothing",
    async (name) => {
      const outside = join(directory, "outside._S3rver_object");
      await writeFile(outside, "outside");

      const { status } = await sign("POST", "/images?delete=", `<Delete><Object><Key>${name}</Key></Object></Delete>`);

      expect(status).toBe(400);
      expect(existsSync(outside)).toBe(true);
    },
  );

  it("answers 400 to a copy of what lies outside, and 501 to a form", async () => {
    const source = { "x-amz-copy-source": "/images/..%2f..%2foutside" };

    expect((await sign("PUT", "/images/copy", "", source)).status).toBe(400);
    expect((await sign("POST", "/images", "key=..%2f..%2foutside")).status).toBe(501);
  });

  it("keeps objects from one start to the next, but not its key", async () => {
    const next = newKey();
    const again = await startS3({ directory: join(directory, "s3"), key: next });

    const { Body } = await clientOf(again, next).send(new GetObjectCommand(object));
    const { Contents } = await clientOf(again, next).send(
      new ListObjectsV2Command({ Bucket: imageBucket, Prefix: "avatars/o" }),
    );

    expect(await Body?.transformToString()).toBe("an image");
    expect(Contents).toHaveLength(1);
    await expect(clientOf(again).send(new GetObjectCommand(object))).rejects.toThrow("Access Key Id");
    await again.close();
  });
});
