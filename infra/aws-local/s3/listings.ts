import type { Bucket, Version } from "./bucket.ts";
import { type Call, type Response, S3Error } from "./call.ts";
import { versionIdOf } from "./objects.ts";
import { element } from "./xml.ts";

const entriesPerCallMax = 1_000;

/** @throws {S3Error} when it is no number */
function entriesMaxOf(query: URLSearchParams): number {
  const text = query.get("max-keys") ?? `${entriesPerCallMax}`;
  if (!/^\d{1,9}$/.test(text))
    throw new S3Error(400, "InvalidArgument", "Provided max-keys not an integer or within integer range");
  return Math.min(Number(text), entriesPerCallMax);
}

export async function listObjectsV2({ bucket, query }: Call): Promise<Response> {
  const prefix = query.get("prefix") ?? "";
  const after = Buffer.from(query.get("continuation-token") ?? "", "base64url").toString();
  const keys = (await bucket.keys()).filter((key) => key.startsWith(prefix) && key > after);
  const all = (await entriesOf(bucket, keys)).filter(({ isLatest, version }) => isLatest && !version.isDeleteMarker);
  const page = all.slice(0, entriesMaxOf(query));
  const isTruncated = page.length < all.length;
  const token = Buffer.from(page.at(-1)?.key ?? "").toString("base64url");
  const contents = await Promise.all(page.map((each) => describe(bucket, each, "Contents", {})));
  const body = `<ListBucketResult>
    <KeyCount>${page.length}</KeyCount><IsTruncated>${isTruncated}</IsTruncated>
    ${isTruncated ? `<NextContinuationToken>${token}</NextContinuationToken>` : ""}${contents.join("")}
  </ListBucketResult>`;
  return { status: 200, body };
}

/** All versions, by key and the newest first, behind the markers that the last page named. */
export async function listObjectVersions({ bucket, query }: Call): Promise<Response> {
  const prefix = query.get("prefix") ?? "";
  const keyMarker = query.get("key-marker") ?? "";
  const versionMarker = query.get("version-id-marker");
  if (versionMarker !== null && !keyMarker)
    throw new S3Error(400, "InvalidArgument", "A version-id marker cannot be specified without a key marker.");
  const age = versionMarker === null ? undefined : ageOf(versionIdOf(versionMarker));
  const keys = (await bucket.keys()).filter((key) => key.startsWith(prefix) && key >= keyMarker);
  const all = (await entriesOf(bucket, keys)).filter(
    ({ key, version }) => key > keyMarker || (age !== undefined && ageOf(version.id) > age),
  );
  const page = all.slice(0, entriesMaxOf(query));
  const last = page.length < all.length ? page.at(-1) : undefined;
  const next = last && { NextKeyMarker: last.key, NextVersionIdMarker: last.version.id };
  const entries = await Promise.all(
    page.map((each) =>
      describe(bucket, each, each.version.isDeleteMarker ? "DeleteMarker" : "Version", {
        VersionId: each.version.id,
        IsLatest: each.isLatest,
      }),
    ),
  );
  const head = Object.entries({ IsTruncated: last !== undefined, ...next }).map(([name, value]) =>
    element(name, value),
  );
  return { status: 200, body: `<ListVersionsResult>${head.join("")}${entries.join("")}</ListVersionsResult>` };
}

/** Grows from the newest version to that without an id. */
const ageOf = (id: string): number => -(Number(id) || 0);

interface Entry {
  readonly key: string;
  readonly version: Version;
  readonly isLatest: boolean;
}

const entriesOf = async (bucket: Bucket, keys: readonly string[]): Promise<Entry[]> =>
  (
    await Promise.all(
      keys.map(async (key) =>
        (await bucket.versionsOf(key)).map((version, index) => ({ key, version, isLatest: index === 0 })),
      ),
    )
  ).flat();

/** Empty if the version has been deleted meanwhile. */
async function describe(bucket: Bucket, { key, version }: Entry, name: string, more: object): Promise<string> {
  await using found = await bucket.open(key, version);
  if (!found) return "";
  const { etag, "last-modified": modified = "" } = found.headers;
  return element(name, {
    Key: key,
    LastModified: new Date(modified).toISOString(),
    ...more,
    ...(!version.isDeleteMarker && { ETag: etag, Size: found.size, StorageClass: "STANDARD" }),
  });
}
