import type { Bucket, Version } from "./bucket.ts";
import { type Call, notImplemented, type Response } from "./call.ts";
import { element } from "./xml.ts";

const entriesPerCallMax = 1_000;

/** All versions, by key and the newest first. */
export async function listObjectVersions({ bucket, query }: Call): Promise<Response> {
  const all = await entriesOf(bucket, query);
  if (all.length > entriesPerCallMax) throw notImplemented();
  const entries = all.map((each) => {
    const { key, version, IsLatest } = each;
    const name = version.isDeleteMarker ? "DeleteMarker" : "Version";
    return describe(bucket, each, name, { Key: key, VersionId: version.id, IsLatest });
  });
  const body = [element("IsTruncated", false), ...(await Promise.all(entries))];
  return { status: 200, body: `<ListVersionsResult>${body.join("")}</ListVersionsResult>` };
}

interface Entry {
  readonly key: string;
  readonly version: Version;
  readonly IsLatest: boolean;
}

async function entriesOf(bucket: Bucket, query: URLSearchParams): Promise<Entry[]> {
  const keys = (await bucket.keys()).filter((key) => key.startsWith(query.get("prefix") ?? ""));
  const entries = keys.map(async (key) =>
    (await bucket.versionsOf(key)).map((version, index) => ({ key, version, IsLatest: index === 0 })),
  );
  return (await Promise.all(entries)).flat();
}

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
