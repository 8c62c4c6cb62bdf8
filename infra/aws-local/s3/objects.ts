import { hash } from "node:crypto";
import { ServiceError } from "../http/service-error.ts";
import { type Bucket, isVersionId, type ObjectHeaders, type Version } from "./bucket.ts";
import { type Call, malformed, noSuchBucket, notImplemented, type Response } from "./call.ts";
import { contentsOf, element, textOf } from "./xml.ts";

/** The headers of an upload that belong to the object. */
const objectHeader = /^(content-(type|encoding|disposition|language)|cache-control|expires|x-amz-meta-.+)$/;

/** The headers of a new object. */
export const newHeaders = (headers: Call["headers"] | ObjectHeaders, etag: string): ObjectHeaders => ({
  "content-type": "binary/octet-stream",
  ...Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (objectHeader.test(name) ? [[name, `${value}`]] : [])),
  ),
  etag,
  "last-modified": new Date().toUTCString(),
});

/** Says which version was made or found. */
export const versionHeaders = ({ id, isDeleteMarker }: Version): ObjectHeaders => ({
  "x-amz-version-id": id,
  ...(isDeleteMarker && { "x-amz-delete-marker": "true" }),
});

export async function putObject({ bucket, key, headers, body }: Call): Promise<Response> {
  const etag = `"${hash("md5", body)}"`;
  const version = await bucket.put(key, newHeaders(headers, etag), body);
  return { status: 200, headers: { etag, ...versionHeaders(version) } };
}

/**
 * The object, or the requested version.
 * @throws {ServiceError} when it is not there, or is a delete marker
 */
async function findObject(bucket: Bucket, key: string, versionId: string | null) {
  const versions = await bucket.versionsOf(key);
  const version = versionId === null ? versions[0] : versions.find(({ id }) => id === versionIdOf(versionId));
  const object = version?.isDeleteMarker ? undefined : version && (await bucket.open(key, version));
  if (version && object) return { version, object };
  if (versionId === null) throw new ServiceError(404, "NoSuchKey", "The specified key does not exist.");
  throw version
    ? new ServiceError(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")
    : new ServiceError(404, "NoSuchVersion", "The specified version does not exist.");
}

/** @throws {ServiceError} when nothing can have this id */
function versionIdOf(text: string): string {
  if (isVersionId(text)) return text;
  throw new ServiceError(400, "InvalidArgument", "Invalid version id specified");
}

export async function getObject({ bucket, key, query, headers, method }: Call): Promise<Response> {
  const { version, object } = await findObject(bucket, key, query.get("versionId"));
  await using found = object;
  const { etag = "" } = found.headers;
  if (headers["if-match"]?.includes(etag) === false)
    throw new ServiceError(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold");
  const common = { ...found.headers, ...versionHeaders(version), "accept-ranges": "bytes" };
  if (headers["if-none-match"]?.includes(etag)) return { status: 304, headers: common };
  const [start, end] = rangeOf(headers.range, found.size);
  const range = headers.range && { "content-range": `bytes ${start}-${end - 1}/${found.size}` };
  return {
    status: range ? 206 : 200,
    headers: { ...common, "content-length": `${end - start}`, ...range },
    ...(method === "GET" && { body: await found.read(start, end) }),
  };
}

/**
 * Where the range begins and ends.
 * @throws {ServiceError} when the object has no byte of it
 */
function rangeOf(range: string | undefined, size: number): readonly [number, number] {
  if (range === undefined) return [0, size];
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range) ?? [];
  if (first === undefined) throw notImplemented();
  const start = Number(first);
  if (start >= size) throw new ServiceError(416, "InvalidRange", "The requested range is not satisfiable");
  return [start, last ? Math.min(size, Number(last) + 1) : size];
}

/** Makes an object of another one, or of an earlier version, with its headers. */
export async function copyObject({ buckets, bucket, key, headers }: Call): Promise<Response> {
  const [, name = "", path = "", versionId = null] =
    /^\/?([^/?]+)\/([^?]+)(?:\?versionId=(.+))?$/.exec(`${headers["x-amz-copy-source"]}`) ?? [];
  const source = buckets.get(name);
  if (!source) throw noSuchBucket();
  const { version, object } = await findObject(source, decodeURIComponent(path), versionId);
  await using found = object;
  const { etag = "" } = found.headers;
  const copied = newHeaders(found.headers, etag);
  const copy = await bucket.put(key, copied, await found.read(0, found.size));
  const LastModified = new Date(copied["last-modified"] ?? "").toISOString();
  return {
    status: 200,
    headers: { ...versionHeaders(copy), "x-amz-copy-source-version-id": version.id },
    body: element("CopyObjectResult", { ETag: etag, LastModified }),
  };
}

export async function deleteObject({ bucket, key, query }: Call): Promise<Response> {
  const deleted = await deleteFrom(bucket, key, query.get("versionId") ?? undefined);
  return { status: 204, headers: versionHeaders(deleted) };
}

/** Deletes a version for good, or else the object. @returns the version that was deleted, or the delete marker */
async function deleteFrom(bucket: Bucket, key: string, versionId: string | undefined): Promise<Version> {
  if (versionId === undefined) return await bucket.delete(key);
  const id = versionIdOf(versionId);
  const version = (await bucket.versionsOf(key)).find((each) => each.id === id);
  if (version) await bucket.deleteVersion(key, version);
  return version ?? { id, isDeleteMarker: false };
}

const objectsPerCallMax = 1_000;

/** Files that are open at once. */
const deletedAtOnce = 50;

export async function deleteObjects({ bucket, body }: Call): Promise<Response> {
  const text = body.toString();
  const objects = contentsOf("Object", text).map((each) => [textOf("Key", each), textOf("VersionId", each)] as const);
  if (objects.length === 0 || objects.length > objectsPerCallMax) throw malformed();
  // The verbose result would name each object.
  if (!text.includes("<Quiet>true</Quiet>")) throw notImplemented();
  const remove = async ([key, versionId]: (typeof objects)[number]) => {
    if (key === undefined) throw malformed();
    await deleteFrom(bucket, key, versionId);
  };
  // A marker is written to the disk: one after the other, a thousand would take longer than a client waits.
  for (let from = 0; from < objects.length; from += deletedAtOnce)
    await Promise.all(objects.slice(from, from + deletedAtOnce).map(remove));
  return { status: 200, body: "<DeleteResult></DeleteResult>" };
}
