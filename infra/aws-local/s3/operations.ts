import type { IncomingMessage } from "node:http";
import type { Bucket } from "./bucket.ts";
import { type Call, noSuchBucket, notImplemented, type Response } from "./call.ts";
import { listObjectVersions } from "./listings.ts";
import { abortMultipartUpload, completeMultipartUpload, createMultipartUpload, uploadPart } from "./multipart.ts";
import { copyObject, deleteObject, deleteObjects, getObject, putObject } from "./objects.ts";

/** By method, what they act on, and the query parameters that tell them from others, sorted. */
const operations: Readonly<Record<string, (call: Call) => Promise<Response>>> = {
  "PUT object": putObject,
  "PUT object from another": copyObject,
  "GET object": getObject,
  "GET object versionId": getObject,
  "HEAD object": getObject,
  "HEAD object versionId": getObject,
  "DELETE object": deleteObject,
  "DELETE object versionId": deleteObject,
  "POST bucket delete": deleteObjects,
  "GET bucket versions": listObjectVersions,
  "POST object uploads": createMultipartUpload,
  "PUT object partNumber uploadId": uploadPart,
  "POST object uploadId": completeMultipartUpload,
  "DELETE object uploadId": abortMultipartUpload,
};

/** The query parameters that do not choose the operation. The SDK sends its name as `x-id`. */
const options = ["x-id", "prefix"];
/** Headers that change nothing here, or that an operation looks at. */
const implemented =
  /^x-amz-(content-sha256|date|user-agent|sdk-checksum-algorithm|checksum-.+|meta-.+|copy-source|expected-bucket-owner)$/;
/** Conditions. Reads look at those that are left out. */
const unimplemented = /^if-(?!match$|none-match$)/;

/**
 * The work that a request asks for.
 * @throws {ServiceError} and a URIError for a key that is not encoded as in URLs
 */
export function operationOf(
  buckets: ReadonlyMap<string, Bucket>,
  { method = "", url = "", headers }: IncomingMessage,
  body: Buffer,
): () => Promise<Response> {
  const [, name = "", path = "", search = ""] = /^\/([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(url) ?? [];
  const query = new URLSearchParams(search);
  const choice = [...query.keys()].filter((each) => !options.includes(each)).sort();
  if ("x-amz-copy-source" in headers) choice.push("from another");
  const operation = operations[[method, path === "" ? "bucket" : "object", ...choice].join(" ")];
  const isRead = method === "GET" || method === "HEAD";
  const isUnknown = (header: string) =>
    (header.startsWith("x-amz-") && !implemented.test(header)) || (isRead ? unimplemented : /^if-/).test(header);
  if (!operation || Object.keys(headers).some(isUnknown)) throw notImplemented();
  const bucket = buckets.get(name);
  if (!bucket) throw noSuchBucket();
  const key = decodeURIComponent(path);
  return () => operation({ buckets, bucket, name, key, method, query, headers, body });
}
