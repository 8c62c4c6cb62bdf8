import { DeleteObjectsCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { attempts, isFault, patient, persist } from "../retry.ts";
import { scaledKey } from "./keys.ts";
import type { Rendition } from "./render.ts";

const client = new S3Client({ maxAttempts: 1, requestHandler: attempts });

const Bucket = process.env.IMAGE_BUCKET;

/** Keys are never used again, so whoever has an image may keep it. */
const object = { Bucket, ContentType: "image/webp", CacheControl: "public, max-age=31536000, immutable" };

/**
 * Stores both sizes of an image. All attempts have ended when it throws, so nothing is written later.
 * @throws {Unavailable} when S3 does not answer until the deadline
 */
export async function storeImage(key: string, { full, scaled }: Rendition, deadline: number): Promise<void> {
  const put = (Key: string, Body: Buffer) =>
    persist((attempt) => client.send(new PutObjectCommand({ ...object, Key, Body }), attempt), isFault, deadline);
  const written = await Promise.allSettled([put(key, full), put(scaledKey(key), scaled)]);
  for (const each of written) if (each.status === "rejected") throw each.reason;
}

/** S3 deletes 1,000 objects a call, and an image is two. */
export const removedImagesMax = 500;

/** Removes images in both sizes; gives the keys of those S3 kept. What is not there counts as removed. */
export async function removeImages(keys: readonly string[], deadline = patient()): Promise<string[]> {
  const Objects = keys.flatMap((key) => [{ Key: key }, { Key: scaledKey(key) }]);
  const command = new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } });
  const { Errors = [] } = await persist((attempt) => client.send(command, attempt), isFault, deadline);
  const failed = new Set(Errors.map(({ Key }) => Key));
  return keys.filter((key) => failed.has(key) || failed.has(scaledKey(key)));
}
