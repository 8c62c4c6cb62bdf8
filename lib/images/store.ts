import { DeleteObjectsCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { scaledKey } from "./keys.ts";
import type { Rendition } from "./render.ts";

const client = new S3Client({
  maxAttempts: 3,
  // Three attempts and the rest of a request fit into the 29 s that API Gateway waits.
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
});

const Bucket = process.env.IMAGE_BUCKET;

/** Keys are never used again, so whoever has an image may keep it. */
const object = { Bucket, ContentType: "image/webp", CacheControl: "public, max-age=31536000, immutable" };

/** Stores both sizes of an image. Both attempts have ended when it throws, so nothing is written later. */
export async function storeImage(key: string, { full, scaled }: Rendition): Promise<void> {
  const written = await Promise.allSettled([
    client.send(new PutObjectCommand({ ...object, Key: key, Body: full })),
    client.send(new PutObjectCommand({ ...object, Key: scaledKey(key), Body: scaled })),
  ]);
  for (const each of written) if (each.status === "rejected") throw each.reason;
}

/** S3 deletes 1,000 objects a call, and an image is two. */
export const removedImagesMax = 500;

/** Removes images in both sizes; gives the keys of those S3 kept. What is not there counts as removed. */
export async function removeImages(keys: readonly string[]): Promise<string[]> {
  const Objects = keys.flatMap((key) => [{ Key: key }, { Key: scaledKey(key) }]);
  const { Errors = [] } = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }));
  const failed = new Set(Errors.map(({ Key }) => Key));
  return keys.filter((key) => failed.has(key) || failed.has(scaledKey(key)));
}
