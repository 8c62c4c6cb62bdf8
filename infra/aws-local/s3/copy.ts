import { type Call, type Response, S3Error } from "./call.ts";
import { findObject, newHeaders, versionHeaders } from "./objects.ts";
import { element } from "./xml.ts";

/** Makes an object of another one, or of an earlier version, with its headers. */
export async function copyObject({ buckets, bucket, name, key, headers }: Call): Promise<Response> {
  const [, sourceName = "", path = "", versionId = null] =
    /^\/?([^/?]+)\/([^?]+)(?:\?versionId=(.+))?$/.exec(`${headers["x-amz-copy-source"]}`) ?? [];
  const sourceKey = decodeURIComponent(path);
  const source = buckets.get(sourceName);
  if (!source) throw new S3Error(404, "NoSuchBucket", "The specified bucket does not exist");
  if (sourceName === name && sourceKey === key && versionId === null)
    throw new S3Error(
      400,
      "InvalidRequest",
      "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.",
    );
  const { version, object } = await findObject(source, sourceKey, versionId).catch(refuseMarker);
  await using found = object;
  const { etag = "" } = found.headers;
  const made = newHeaders(found.headers, etag);
  const copy = await bucket.put(key, made, await found.read(0, found.size));
  const LastModified = new Date(made["last-modified"] ?? "").toISOString();
  return {
    status: 200,
    headers: {
      ...versionHeaders(bucket, copy),
      ...(source.versioned && { "x-amz-copy-source-version-id": version.id }),
    },
    body: element("CopyObjectResult", { ETag: etag, LastModified }),
  };
}

function refuseMarker(error: unknown): never {
  if (error instanceof S3Error && error.status === 405)
    throw new S3Error(
      400,
      "InvalidRequest",
      "The source of a copy request may not specifically refer to a delete marker by version id.",
    );
  throw error;
}
