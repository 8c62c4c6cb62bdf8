import { DeleteObjectsCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { deadlineFromNow, isFault, retry } from "../aws/retry.ts";
import { Bucket, client } from "./bucket.ts";
import { scaledKey } from "./keys.ts";
import type { Rendition } from "./render.ts";

/** A key is never used again, so caches may keep an image for ever. */
const object = { Bucket, ContentType: "image/webp", CacheControl: "public, max-age=31536000, immutable" };

/**
 * Stores both sizes of an image. When it throws, all attempts have ended, so nothing is written later.
 * @throws {Unavailable} when S3 does not respond before the deadline
 */
export async function storeImage(key: string, { full, scaled }: Rendition, deadline: number): Promise<void> {
  const put = (Key: string, Body: Buffer) =>
    retry((options) => client.send(new PutObjectCommand({ ...object, Key, Body }), options), isFault, deadline);
  const results = await Promise.allSettled([put(key, full), put(scaledKey(key), scaled)]);
  for (const each of results) if (each.status === "rejected") throw each.reason;
}

/** S3 deletes 1,000 objects in a call, and an image has two. */
export const imagesPerCall = 500;

/** Deletes the objects of images, two each. Returns the keys of the images that S3 did not delete. */
export async function deleteObjects(keys: readonly string[], deadline = deadlineFromNow()): Promise<string[]> {
  const Objects = keys.flatMap((key) => [{ Key: key }, { Key: scaledKey(key) }]);
  const command = new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } });
  const { Errors = [] } = await retry((options) => client.send(command, options), isFault, deadline);
  const failed = new Set(Errors.map(({ Key }) => Key));
  return keys.filter((key) => failed.has(key) || failed.has(scaledKey(key)));
}
