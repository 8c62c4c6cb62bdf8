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

/** Keys as the answer has them. @throws {S3Error} for an encoding that there is not */
function encodingOf(query: URLSearchParams): (key: string) => string {
  const type = query.get("encoding-type");
  if (type === null) return (key) => key;
  if (type === "url") return (key) => encodeURIComponent(key).replaceAll("%2F", "/");
  throw new S3Error(400, "InvalidArgument", "Invalid Encoding Method specified in Request");
}

/** With a delimiter all keys that are alike up to it count as one, a common prefix. */
export async function listObjectsV2({ bucket, query }: Call): Promise<Response> {
  const prefix = query.get("prefix") ?? "";
  const delimiter = query.get("delimiter") ?? "";
  const encode = encodingOf(query);
  const after = Buffer.from(query.get("continuation-token") ?? "", "base64url").toString();
  const keys = (await bucket.keys()).filter((key) => key.startsWith(prefix));
  const all = (await entriesOf(bucket, keys)).filter(({ isLatest, version }) => isLatest && !version.isDeleteMarker);
  const byName = new Map<string, Entry | undefined>(
    all.map((each) => {
      const common = commonPrefixOf(each.key, prefix, delimiter);
      return common === undefined ? [each.key, each] : [common, undefined];
    }),
  );
  const names = [...byName.keys()].filter((name) => name > after);
  const page = names.slice(0, entriesMaxOf(query));
  const isTruncated = page.length < names.length;
  const token = Buffer.from(page.at(-1) ?? "").toString("base64url");
  const contents = await Promise.all(
    page.map(async (name) => {
      const entry = byName.get(name);
      if (entry) return await describe(bucket, entry, "Contents", { Key: encode(name) });
      return `<CommonPrefixes>${element("Prefix", encode(name))}</CommonPrefixes>`;
    }),
  );
  const body = `<ListBucketResult>${encodingElement(query)}
    <KeyCount>${page.length}</KeyCount><IsTruncated>${isTruncated}</IsTruncated>
    ${isTruncated ? `<NextContinuationToken>${token}</NextContinuationToken>` : ""}${contents.join("")}
  </ListBucketResult>`;
  return { status: 200, body };
}

const encodingElement = (query: URLSearchParams) => (query.has("encoding-type") ? element("EncodingType", "url") : "");

/** Up to the delimiter, that included; undefined for a key that has none behind the prefix. */
function commonPrefixOf(key: string, prefix: string, delimiter: string): string | undefined {
  const at = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
  return at < 0 ? undefined : key.slice(0, at + delimiter.length);
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
  const encode = encodingOf(query);
  const next = last && { NextKeyMarker: encode(last.key), NextVersionIdMarker: last.version.id };
  const entries = await Promise.all(
    page.map((each) =>
      describe(bucket, each, each.version.isDeleteMarker ? "DeleteMarker" : "Version", {
        Key: encode(each.key),
        VersionId: each.version.id,
        IsLatest: each.isLatest,
      }),
    ),
  );
  const head = Object.entries({ IsTruncated: last !== undefined, ...next }).map(([name, value]) =>
    element(name, value),
  );
  const parts = [encodingElement(query), ...head, ...entries];
  return { status: 200, body: `<ListVersionsResult>${parts.join("")}</ListVersionsResult>` };
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
    ...more,
    LastModified: new Date(modified).toISOString(),
    ...(!version.isDeleteMarker && { ETag: etag, Size: found.size, StorageClass: "STANDARD" }),
  });
}
