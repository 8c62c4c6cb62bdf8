import { mkdir, writeFile } from "node:fs/promises";
import { createServer, IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";
import { imageBucket } from "../../local/image-bucket.ts";
import { isFromPage } from "../http/loopback.ts";
import { read } from "../http/request-body.ts";
import { type Key, type SignatureError, verifier } from "../http/signature.ts";

export interface S3Options {
  /** Where objects are kept, as files. */
  readonly directory: string;
  /** The key that requests must be signed with. */
  readonly key: Key;
  /** Default: a free one, on 127.0.0.1. */
  readonly port?: number;
}

/**
 * A fault that a test injects: a 500 (`error`), a 403 (`refuse`) or a broken connection (`drop`), before the request is
 * served or after it, which the caller cannot tell apart. Or the XML to answer instead of the store.
 */
export type S3Fault = `${Way}-${"before" | "after"}` | { readonly xml: string };

type Way = "error" | "refuse" | "drop";

export interface S3 {
  readonly url: string;
  /** The requests received since the start or since this was last emptied, as `PUT /images/avatars/….webp`. */
  readonly requests: string[];
  /** Sets the function that chooses the fault of each request. */
  intercept(next: ((request: string) => S3Fault | undefined | Promise<S3Fault | undefined>) | undefined): void;
  close(): Promise<void>;
}

const requestsMax = 10_000;
/** Much larger than the largest image. */
const bodyBytesMax = 16 * 1_048_576;

/** Starts an S3 server with the bucket of images. */
export async function startS3({ directory, key, port = 0 }: S3Options): Promise<S3> {
  await keepFolders(join(directory, imageBucket));
  const store = new S3rver({
    directory,
    silent: true,
    vhostBuckets: false,
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: imageBucket }],
  });
  await store.configureBuckets();
  const serve = store.callback();
  const signatureErrorOf = verifier("s3", key);
  const requests: string[] = [];
  let faultOf: Parameters<S3["intercept"]>[0];

  const errorOf = (request: IncomingMessage, body: Buffer): S3Error | undefined => {
    if (isFromPage(request)) return signatureErrors.missing;
    const signatureError = signatureErrorOf(request, body);
    return signatureError ? signatureErrors[signatureError] : requestErrorOf(request, body);
  };

  const server = createServer(async (request, response) => {
    const body = await read(request, bodyBytesMax).catch(() => undefined);
    if (!body) return sendError(response, tooLarge);
    const error = errorOf(request, body);
    if (error) return sendError(response, error);
    const call = callOf(request);
    if (requests.push(call) > requestsMax) requests.shift();
    const fault = await faultOf?.(call);
    if (fault === undefined) return void serve(requestForStore(request, body), response);
    if (typeof fault === "object")
      return void response.writeHead(200, { "Content-Type": "application/xml" }).end(fault.xml);
    const [way, time] = fault.split("-") as [Way, "before" | "after"];
    if (time === "after") return void serve(requestForStore(request, body), failWhenAnswered(response, way));
    fail(response, way);
  });
  // Longer than any client keeps an idle connection: otherwise it could be closed while a request is on its way.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    intercept: (next) => {
      faultOf = next;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      store.logger.close();
    },
  };
}

type S3Error = readonly [status: number, code: string, message: string];

/** S3's answers to invalid signatures ("Error responses" in the S3 API reference). */
const signatureErrors: Readonly<Record<SignatureError, S3Error>> = {
  missing: [403, "AccessDenied", "Access Denied"],
  scope: [400, "AuthorizationHeaderMalformed", "The authorization header is malformed."],
  key: [403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records."],
  time: [403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large."],
  signature: [
    403,
    "SignatureDoesNotMatch",
    "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
  ],
  body: [
    400,
    "XAmzContentSHA256Mismatch",
    "The provided 'x-amz-content-sha256' header does not match what was computed.",
  ],
};

const tooLarge: S3Error = [400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size"];
const invalid: S3Error = [400, "InvalidURI", "Couldn't parse the specified URI."];
const unused: S3Error = [501, "NotImplemented", "A header you provided implies functionality that is not implemented"];

/** A `..` segment, a backslash or NUL. The store turns keys into file paths, which could point outside of its folder. */
const traversal = /(?<![\w.])\.\.(?![\w.])|[\\\0]/;

/** The error of a request that must not reach the store. Keys are in its URL, in `x-amz-copy-source` and in deletions. */
function requestErrorOf({ method, url = "", headers }: IncomingMessage, body: Buffer): S3Error | undefined {
  const isDeletion = method === "POST" && /[?&]delete(=|&|$)/.test(url);
  // Uploads by HTML form have keys in their bodies, too.
  if (method === "POST" && !isDeletion) return unused;
  try {
    const keys = decodeURIComponent(`${url}\n${headers["x-amz-copy-source"] ?? ""}`);
    if (traversal.test(keys)) return invalid;
  } catch {
    return invalid;
  }
  const text = isDeletion ? body.toString() : "";
  // The store decodes every HTML entity. Only the five of XML are allowed: none of them stands for a part of a path.
  return traversal.test(text) || /&(?!(?:amp|lt|gt|quot|apos);)/.test(text) ? invalid : undefined;
}

function sendError(response: ServerResponse, [status, code, message]: S3Error): void {
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  response.writeHead(status, { "Content-Type": "application/xml" }).end(xml);
}

/**
 * The request as the store gets it: with a body that it can read again, and without the signature, because the store
 * accepts only its own key.
 */
function requestForStore({ socket, method, url, headers }: IncomingMessage, body: Buffer): IncomingMessage {
  const { authorization: _, ...kept } = headers;
  const again = Object.assign(new IncomingMessage(socket), { method, url, headers: kept, complete: true });
  again.push(body);
  again.push(null);
  return again;
}

/** The store removes a folder together with its last object, even while it writes another one there. */
async function keepFolders(bucket: string): Promise<void> {
  for (const folder of ["avatars", "profiles", "covers"]) {
    await mkdir(join(bucket, folder), { recursive: true });
    await writeFile(join(bucket, folder, ".keep"), "");
  }
}

/** Discards the store's answer, and fails when the store has finished it. */
function failWhenAnswered(response: ServerResponse, way: Way): ServerResponse {
  response.write = () => true;
  response.end = () => {
    fail(response, way);
    return response;
  };
  return response;
}

/** Writes to the socket, because the store may have written a head to the response. */
function fail({ socket }: ServerResponse, way: Way): void {
  if (way === "drop") return void socket?.destroy();
  const status = way === "error" ? "500 Internal Server Error" : "403 Forbidden";
  socket?.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
}

const callOf = ({ method, url = "" }: IncomingMessage) => `${method} ${url.replace(/[?&]x-id=\w+/, "")}`;
