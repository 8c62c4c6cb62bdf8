import type { IncomingMessage } from "node:http";
import type { Bucket } from "./bucket.ts";
import { type Call, type Response, S3Error } from "./call.ts";
import { copyObject } from "./copy.ts";
import { listObjectsV2, listObjectVersions } from "./listings.ts";
import { abortMultipartUpload, completeMultipartUpload, createMultipartUpload, uploadPart } from "./multipart.ts";
import { deleteObject, deleteObjects, getObject, headObject, putObject } from "./objects.ts";

/** By method, what they act on, and the query parameters that tell them from others, sorted. */
const operations: Readonly<Record<string, (call: Call) => Promise<Response>>> = {
  "PUT object": putObject,
  "PUT object from another": copyObject,
  "GET object": getObject,
  "GET object versionId": getObject,
  "HEAD object": headObject,
  "HEAD object versionId": headObject,
  "DELETE object": deleteObject,
  "DELETE object versionId": deleteObject,
  "POST bucket delete": deleteObjects,
  "GET bucket list-type": listObjectsV2,
  "GET bucket delimiter list-type": listObjectsV2,
  "GET bucket versions": listObjectVersions,
  "POST object uploads": createMultipartUpload,
  "PUT object partNumber uploadId": uploadPart,
  "POST object uploadId": completeMultipartUpload,
  "DELETE object uploadId": abortMultipartUpload,
};

/** The query parameters that do not choose the operation. The SDK tells its name in `x-id`. */
const options = [
  "x-id",
  "prefix",
  "encoding-type",
  "max-keys",
  "continuation-token",
  "key-marker",
  "version-id-marker",
];
/** Headers that change nothing here, or that an operation looks at. */
const implemented =
  /^x-amz-(content-sha256|date|user-agent|sdk-checksum-algorithm|checksum-.+|meta-.+|copy-source|expected-bucket-owner)$/;
/** Conditions. Reads look at those that are left out. */
const unimplemented = /^if-(?!match$|none-match$)/;

/**
 * The work that a request asks for.
 * @throws {S3Error} and a URIError for a key that is not encoded as in URLs
 */
export function operationOf(
  buckets: ReadonlyMap<string, Bucket>,
  { method, url = "", headers }: IncomingMessage,
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
  if (!operation || Object.keys(headers).some(isUnknown))
    throw new S3Error(501, "NotImplemented", "A header you provided implies functionality that is not implemented");
  const bucket = buckets.get(name);
  if (!bucket) throw new S3Error(404, "NoSuchBucket", "The specified bucket does not exist");
  const key = decodeURIComponent(path);
  return () => operation({ buckets, bucket, name, key, query, headers, body });
}
