import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Bucket } from "./bucket.ts";

/** A response; a text is XML. */
export interface Response {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

/** An error of S3 ("Error responses" in the S3 API reference). */
export class S3Error extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

interface Call {
  readonly bucket: Bucket;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** By method, what they act on, and the query parameter that tells them from others. */
const operations: Readonly<Record<string, (call: Call) => Promise<Response>>> = {
  "PUT object": putObject,
  "GET object": getObject,
  "HEAD object": getObject,
  "DELETE object": deleteObject,
  "POST bucket delete": deleteObjects,
  "GET bucket list-type": listObjectsV2,
};

/** The query parameters that do not choose the operation. The SDK tells its name in `x-id`. */
const options = ["x-id", "prefix", "continuation-token"];
/** With these headers an upload would be a copy, or depend on what is stored. */
const unimplemented = ["x-amz-copy-source", "if-match", "if-none-match"];

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
  const choice = [...query.keys()].filter((each) => !options.includes(each));
  const operation = operations[[method, path === "" ? "bucket" : "object", ...choice].join(" ")];
  if (!operation || (method === "PUT" && unimplemented.some((header) => header in headers)))
    throw new S3Error(501, "NotImplemented", "A header you provided implies functionality that is not implemented");
  const bucket = buckets.get(name);
  if (!bucket) throw new S3Error(404, "NoSuchBucket", "The specified bucket does not exist");
  const key = decodeURIComponent(path);
  return () => operation({ bucket, key, query, headers, body });
}

/** The headers of an upload that belong to the object. */
const objectHeader = /^(content-(type|encoding|disposition|language)|cache-control|expires|x-amz-meta-.+)$/;

async function putObject({ bucket, key, headers, body }: Call): Promise<Response> {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    objectHeader.test(name) ? [[name, `${value}`]] : [],
  );
  const etag = `"${hash("md5", body)}"`;
  const own = { "content-type": "binary/octet-stream", etag, "last-modified": new Date().toUTCString() };
  await bucket.put(key, { headers: { ...own, ...Object.fromEntries(given) }, body });
  return { status: 200, headers: { etag } };
}

async function getObject({ bucket, key, headers }: Call): Promise<Response> {
  const found = await bucket.get(key);
  if (!found) throw new S3Error(404, "NoSuchKey", "The specified key does not exist.");
  if (headers["if-none-match"]?.includes(`${found.headers.etag}`)) return { status: 304, headers: found.headers };
  return { status: 200, ...found };
}

async function deleteObject({ bucket, key }: Call): Promise<Response> {
  await bucket.delete(key);
  return { status: 204 };
}

const objectsPerCallMax = 1_000;

async function deleteObjects({ bucket, body }: Call): Promise<Response> {
  const text = body.toString();
  const keys = Array.from(text.matchAll(/<Key>([^<]+)<\/Key>/g), ([, key = ""]) => unescapeXml(key));
  if (keys.length === 0 || keys.length > objectsPerCallMax)
    throw new S3Error(400, "MalformedXML", "The XML you provided did not validate against our published schema");
  for (const key of keys) await bucket.delete(key);
  const shown = text.includes("<Quiet>true</Quiet>") ? [] : keys;
  const deleted = shown.map((key) => `<Deleted><Key>${escapeXml(key)}</Key></Deleted>`);
  return { status: 200, body: `<DeleteResult>${deleted.join("")}</DeleteResult>` };
}

async function listObjectsV2({ bucket, query }: Call): Promise<Response> {
  const prefix = query.get("prefix") ?? "";
  const after = Buffer.from(query.get("continuation-token") ?? "", "base64url").toString();
  const keys = (await bucket.keys()).filter((key) => key.startsWith(prefix) && key > after);
  const page = keys.slice(0, objectsPerCallMax);
  const isTruncated = page.length < keys.length;
  const token = Buffer.from(page.at(-1) ?? "").toString("base64url");
  const contents = await Promise.all(page.map((key) => contentsOf(bucket, key)));
  const body = `<ListBucketResult>
    <KeyCount>${page.length}</KeyCount><IsTruncated>${isTruncated}</IsTruncated>
    ${isTruncated ? `<NextContinuationToken>${token}</NextContinuationToken>` : ""}${contents.join("")}
  </ListBucketResult>`;
  return { status: 200, body };
}

/** Empty if the object has been deleted meanwhile. */
async function contentsOf(bucket: Bucket, key: string): Promise<string> {
  const found = await bucket.get(key);
  if (!found) return "";
  const { etag = "", "last-modified": modified = "" } = found.headers;
  return (
    `<Contents><Key>${escapeXml(key)}</Key><LastModified>${new Date(modified).toISOString()}</LastModified>` +
    `<ETag>${escapeXml(etag)}</ETag><Size>${found.body.length}</Size></Contents>`
  );
}

const escapeXml = (text: string): string => text.replace(/[\p{Cc}&<>"]/gu, (each) => `&#${each.charCodeAt(0)};`);

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const unescapeXml = (text: string): string =>
  text.replace(/&(?:#x([\da-f]+)|(\w+));/gi, (whole, code, name) =>
    code ? String.fromCodePoint(Number.parseInt(code, 16)) : (entities[name] ?? whole),
  );
