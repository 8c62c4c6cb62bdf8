import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { startApiGateway } from "../../../../infra/aws-local/api-gateway/server.ts";
import { lambdaOf, restApi } from "../../../../infra/aws-local/test/rest-api.ts";
import { type S3, startS3 } from "../../../../infra/aws-local/test/s3.ts";
import { send } from "../../../../infra/aws-local/test/send.ts";
import { avatars, covers, drawingPages } from "../../../../infra/local/demo/drawings.ts";
import { readCatalogue } from "../../../../infra/local/demo/load.ts";
import { storeAvatars } from "../../../../infra/local/demo/store-avatars.ts";
import { imagePages } from "../../../../infra/local/pages/images.ts";
import { bucketsOf, imageBucket } from "../../../../infra/local/stage/functions.ts";
import { scaledKey } from "../../../../lib/images/keys.ts";
import type { CatalogueLine } from "../../../../lib/operators/catalogue-lines.ts";
import { key } from "../../../support/environment.ts";
import { latestChange, settleImages, undo, undone } from "../../../support/undo.ts";
import { startUploads } from "../../../support/uploads.ts";

let directory: string;
let s3: S3;
let gateway: Awaited<ReturnType<typeof startApiGateway>>;
let lines: readonly CatalogueLine[];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colophon-images-"));
  s3 = await startS3({ directory, buckets: bucketsOf({ uploads: true }), key });
  lines = await readCatalogue();
  gateway = await startApiGateway({
    document: restApi({}),
    lambda: lambdaOf({}),
    pages: [drawingPages([...covers(lines), ...avatars(lines)]), imagePages(s3.url, key)],
  });
  const client = new S3Client({ endpoint: s3.url, region: "eu-central-1", credentials: key, forcePathStyle: true });
  const headers = { ContentType: "image/webp", CacheControl: "public, max-age=31536000, immutable" };
  const object = { Bucket: imageBucket, Key: "avatars/one.webp", Body: "an image" };
  await client.send(new PutObjectCommand({ ...object, ...headers }));
});

afterAll(async () => {
  await gateway.close();
  await s3.close();
  await rm(directory, { recursive: true });
});

const get = (path: string, init?: RequestInit) => fetch(`${gateway.url}${path}`, init);

describe("GET /images/{key}", () => {
  const path = "/images/avatars/one.webp";

  it("responds with the headers of a CDN, 304 for a matching ETag, and HEAD without a body", async () => {
    const response = await get(path);

    expect([response.status, await response.text()]).toEqual([200, "an image"]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "image/webp",
      "content-length": "8",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "cross-origin",
    });
    const headers = { "If-None-Match": response.headers.get("etag") ?? "" };
    expect((await get(path, { headers })).status).toBe(304);
    const head = await get(path, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "8"]);
  });

  it.each([
    "/images/avatars/two.webp",
    "/images/avatars%2Fone.webp.object",
    "/images/avatars/..%2fone.webp",
    "/images/avatars/../avatars/one.webp",
    "/images/?list-type=2",
    "/images/one.webp",
    "/images/covers/nobody-1.svg",
  ])("returns 404 to %s, for nobody to keep", async (path) => {
    expect(await send(gateway.url, path)).toMatchObject({ status: 404, headers: { "cache-control": "no-store" } });
  });
});

describe("The images of the demo data", () => {
  it("are drawn, covers in the shape of their volumes and a dozen square avatars, each of its own look, like the CDN's files", async () => {
    const volumes = lines.flatMap((line) => (line.kind === "series" ? (line.volumes ?? []) : []));
    const covers = volumes.flatMap(({ cover, aspect_ratio: ratio }) => (cover ? [[cover, ratio] as const] : []));
    const avatars = lines.flatMap((line) =>
      line.kind === "contributor" && line.image ? [[line.image, 1] as const] : [],
    );
    expect(covers.length).toBeGreaterThan(100);
    expect(avatars.length).toBeGreaterThanOrEqual(12);

    const texts = new Set<string>();
    for (const [image, aspectRatio] of [...covers.slice(0, 40), ...avatars]) {
      const response = await get(`/images/${image}`);
      const text = await response.text();
      texts.add(text);
      const [, width, height] = /^<svg [^>]*width="(\d+)" height="(\d+)"/.exec(text) ?? [];

      expect([image, response.headers.get("content-type")]).toEqual([image, "image/svg+xml"]);
      expect(Number(width) / Number(height)).toBeCloseTo(aspectRatio, 2);
      expect(text.length).toBeLessThan(10_000);
      expect(text).not.toMatch(/undefined|NaN/);
      expect(response.headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
    }
    expect(texts.size).toBe(40 + avatars.length);
  });

  it("of contributors are removed and restored as uploaded ones, also when the service starts meanwhile", async () => {
    const stack = await startUploads({ from: "demo" });
    onTestFinished(() => stack.close());
    const storeAgain = () => storeAvatars(`${inject("databaseUrl")}/${process.env.DATABASE_NAME}`, stack.s3.url, key);
    const [contributor] = await stack.sql`select id, image from contributors where image is not null order by id`;
    const typeOf = async (name: string) => {
      const response = await fetch(`${stack.url}/images/${name}`);
      return response.ok ? response.headers.get("content-type") : response.status;
    };
    const types = () => Promise.all([contributor?.image, scaledKey(contributor?.image)].map(typeOf));
    await storeAgain();
    const stored = await stack.keys();
    await storeAgain();
    expect(await types()).toEqual(["image/svg+xml", "image/svg+xml"]);

    await stack.call("admin-contributors/delete-avatar", { as: "local-editor", path: { id: contributor?.id } });
    const removal = await latestChange(stack.sql);
    await settleImages(stack.sql);
    await storeAgain();

    expect(await types()).toEqual([404, 404]);
    expect(await undo(stack, { change: removal, dryRun: true })).toMatchObject({ undone: [{ skipped: [] }] });
    await undone(stack, removal);
    expect(await types()).toEqual(["image/svg+xml", "image/svg+xml"]);
    expect(await stack.keys()).toEqual(stored);
  });
});
