import { CopyObjectCommand, ListObjectVersionsCommand, type ObjectVersion } from "@aws-sdk/client-s3";
import { deadlineFromNow, isFault, retry } from "../aws/retry.ts";
import { Bucket, client } from "./bucket.ts";
import { scaledKey } from "./keys.ts";

/** `deleted`: S3 has deleted a version for good, so nothing was restored. */
export type Restoration = "restored" | "present" | "deleted";

/**
 * Brings back the objects of an image that were deleted: each becomes a copy of its newest version, bytes and headers
 * alike. Unlike the removal of its delete marker, a copy is replicated to another region, needs no right to delete
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
