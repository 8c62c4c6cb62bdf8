import {
  CopyObjectCommand,
  DeleteObjectsCommand,
  ListObjectVersionsCommand,
  type ObjectVersion,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { deadlineFromNow, isFault, retry, timeouts } from "../aws/retry.ts";
import { scaledKey } from "./keys.ts";
import type { Rendition } from "./render.ts";

const client = new S3Client({ maxAttempts: 1, requestHandler: timeouts });

/** The bucket of images. Undefined on a stage without uploads. */
export const Bucket = process.env.IMAGE_BUCKET;

/** A key is never used again, so caches may keep an image for ever. */
const object = { Bucket, ContentType: "image/webp", CacheControl: "public, max-age=31536000, immutable" };

/**
 * Stores both sizes of an image. When it throws, all attempts have ended, so nothing is written later.
 * @throws {Unavailable} when S3 does not respond before the deadline
 */
export async function storeImage(
  key: string,
  { full, scaled }: Pick<Rendition, "full" | "scaled">,
  deadline: number,
): Promise<void> {
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

/** `deleted`: S3 has deleted a version for good, so nothing was restored. */
export type Restoration = "restored" | "present" | "deleted";

/**
 * Brings back the objects of an image that were deleted: each becomes a copy of its newest version, with its
 * headers. Unlike the removal of its delete marker, a copy is replicated to another region, needs no right to delete
 * versions, and cannot expire with them. The caller has listed the image for removal (`images_to_remove`): so if
 * it breaks off, nothing is left for good. It may be called again.
 * @throws {Unavailable} when S3 does not respond before the deadline
 */
export async function restoreObjects(key: string, deadline = deadlineFromNow()): Promise<Restoration> {
  const versions = await Promise.all([key, scaledKey(key)].map((each) => newestVersion(each, deadline)));
  const found = versions.filter((each) => each !== undefined);
  if (found.length < versions.length) return "deleted";
  const deleted = found.filter(({ IsLatest }) => !IsLatest);
  const copies = await Promise.allSettled(deleted.map((each) => copy(each, deadline)));
  for (const each of copies) if (each.status === "rejected") throw each.reason;
  return deleted.length > 0 ? "restored" : "present";
}

/** Undefined if there is none but delete markers. S3 lists the newest first, and longer keys behind. */
async function newestVersion(Key: string, deadline: number): Promise<ObjectVersion | undefined> {
  const command = new ListObjectVersionsCommand({ Bucket, Prefix: Key });
  const { Versions = [] } = await retry((options) => client.send(command, options), isFault, deadline);
  return Versions.find((each) => each.Key === Key);
}

async function copy({ Key = "", VersionId = "" }: ObjectVersion, deadline: number): Promise<void> {
  const CopySource = `${Bucket}/${Key.split("/").map(encodeURIComponent).join("/")}?versionId=${VersionId}`;
  await retry((options) => client.send(new CopyObjectCommand({ Bucket, Key, CopySource }), options), isFault, deadline);
}
