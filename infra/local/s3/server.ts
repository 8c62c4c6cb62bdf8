import { mkdir, writeFile } from "node:fs/promises";
import { createServer, IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";
import { isFromPage } from "../http/loopback.ts";
import { read } from "../http/request-body.ts";
import { type Flaw, type Key, verifier } from "../http/signature.ts";
import { imageBucket } from "./image-bucket.ts";

export interface S3Options {
  /** Where objects are kept, as files. */
  readonly directory: string;
  /** What is not signed with it gets no answer. */
  readonly key: Key;
  /** Default: a free one, on 127.0.0.1. */
  readonly port?: number;
}

/**
 * A failure at the wire: an error of S3's, a refusal, or a broken connection; after the request was served, though the
 * caller cannot know, or before. Or what to answer instead of the store.
 */
export type S3Fault = `${Way}-${"before" | "after"}` | { readonly xml: string };

type Way = "error" | "refuse" | "drop";

export interface S3 {
  readonly url: string;
  /** The requests received since the start or since this was last emptied, as `PUT /images/avatars/….webp`. */
  readonly requests: string[];
  /** Sets what decides on the failure of each request, at run time. */
  intercept(next: ((request: string) => S3Fault | undefined | Promise<S3Fault | undefined>) | undefined): void;
  close(): Promise<void>;
}

const requestsMax = 10_000;
/** Far more than an image may have. */
const bodyBytesMax = 16 * 1_048_576;

/** Starts an S3 with the bucket of images. */
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
  const answer = store.callback();
  const flawOf = verifier("s3", key);
  const requests: string[] = [];
  let decide: Parameters<S3["intercept"]>[0];

  const refusalOf = (request: IncomingMessage, body: Buffer): Refusal | undefined => {
    if (isFromPage(request)) return refusals.missing;
    const flaw = flawOf(request, body);
    return flaw ? refusals[flaw] : objectionTo(request, body);
  };

  const server = createServer(async (request, response) => {
    const body = await read(request, bodyBytesMax).catch(() => undefined);
    if (!body) return refuse(response, tooLarge);
    const refusal = refusalOf(request, body);
    if (refusal) return refuse(response, refusal);
    const described = describe(request);
    if (requests.push(described) > requestsMax) requests.shift();
    const fault = await decide?.(described);
    if (fault === undefined) return void answer(replay(request, body), response);
    if (typeof fault === "object")
      return void response.writeHead(200, { "Content-Type": "application/xml" }).end(fault.xml);
    const [way, time] = fault.split("-") as [Way, "before" | "after"];
    if (time === "after") return void answer(replay(request, body), unheard(response, way));
    fail(response, way);
  });
  // Longer than any client keeps an idle connection, so that none is closed just as a request comes.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    intercept: (next) => {
      decide = next;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      store.logger.close();
    },
  };
}

type Refusal = readonly [status: number, code: string, message: string];

/** What AWS answers ("Error responses" in the S3 API reference). */
const refusals: Readonly<Record<Flaw, Refusal>> = {
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

const tooLarge: Refusal = [400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size"];
const invalid: Refusal = [400, "InvalidURI", "Couldn't parse the specified URI."];
const unused: Refusal = [501, "NotImplemented", "A header you provided implies functionality that is not implemented"];

/** Of `..`, a backslash and NUL: the store makes paths of files from keys, and would leave its folder by them. */
const climbing = /(?<![\w.])\.\.(?![\w.])|[\\\0]/;

/** Why a request must not reach the store, whoever signs. It names keys in its URL, of what to copy and of what to delete. */
function objectionTo({ method, url = "", headers }: IncomingMessage, body: Buffer): Refusal | undefined {
  const isDeletion = method === "POST" && /[?&]delete(=|&|$)/.test(url);
  // Forms, too, have keys in their bodies.
  if (method === "POST" && !isDeletion) return unused;
  try {
    const named = decodeURIComponent(`${url}\n${headers["x-amz-copy-source"] ?? ""}`);
    if (climbing.test(named)) return invalid;
  } catch {
    return invalid;
  }
  const text = isDeletion ? body.toString() : "";
  // The store reads every entity that HTML has; XML has five, and none of them is a part of a path.
  return climbing.test(text) || /&(?!(?:amp|lt|gt|quot|apos);)/.test(text) ? invalid : undefined;
}

function refuse(response: ServerResponse, [status, code, message]: Refusal): void {
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  response.writeHead(status, { "Content-Type": "application/xml" }).end(xml);
}

/**
 * The request for the store, which reads its body once more. The store knows a key of its own only, so it sees no
 * signature.
 */
function replay({ socket, method, url, headers }: IncomingMessage, body: Buffer): IncomingMessage {
  const { authorization: _, ...kept } = headers;
  const again = Object.assign(new IncomingMessage(socket), { method, url, headers: kept, complete: true });
  again.push(body);
  again.push(null);
  return again;
}

/** The store removes a folder with its last object, and with it what is just being written there. */
async function keepFolders(bucket: string): Promise<void> {
  for (const folder of ["avatars", "profiles", "covers"]) {
    await mkdir(join(bucket, folder), { recursive: true });
    await writeFile(join(bucket, folder, ".keep"), "");
  }
}

/** Lets what the store answers go nowhere; the fault comes when it is done. */
function unheard(response: ServerResponse, way: Way): ServerResponse {
  response.write = () => true;
  response.end = () => {
    fail(response, way);
    return response;
  };
  return response;
}

/** The store may have written a head already, so the answer goes past it. */
function fail({ socket }: ServerResponse, way: Way): void {
  if (way === "drop") return void socket?.destroy();
  const status = way === "error" ? "500 Internal Server Error" : "403 Forbidden";
  socket?.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
}

const describe = ({ method, url = "" }: IncomingMessage) => `${method} ${url.replace(/[?&]x-id=\w+/, "")}`;
