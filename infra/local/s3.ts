import { mkdir, stat, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";

export interface S3Options {
  /** Where objects are kept, as files. */
  readonly directory: string;
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
  has(key: string): Promise<boolean>;
  close(): Promise<void>;
}

/** The bucket of images on this machine. */
export const imageBucket = "images";

const requestsMax = 10_000;

/** Starts an S3 with the bucket of images, whoever signs. */
export async function startS3({ directory, port = 0 }: S3Options): Promise<S3> {
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
  const requests: string[] = [];
  let decide: Parameters<S3["intercept"]>[0];

  const serve = (request: IncomingMessage, response: ServerResponse) =>
    mayPass(request) ? answer(request, response) : response.writeHead(403).end();

  const server = createServer(async (request, response) => {
    const described = describe(request);
    if (requests.push(described) > requestsMax) requests.shift();
    const fault = await decide?.(described);
    if (fault === undefined) return void serve(request, response);
    if (typeof fault === "object") {
      await read(request);
      return void response.writeHead(200, { "Content-Type": "application/xml" }).end(fault.xml);
    }
    const [way, time] = fault.split("-") as [Way, "before" | "after"];
    if (time === "after") return void serve(request, unheard(response, way));
    await read(request);
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
    // Its metadata are the last of an object's files to be written.
    has: (key) => stat(join(directory, imageBucket, `${key}._S3rver_metadata.json`)).then(Boolean, () => false),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      store.logger.close();
    },
  };
}

/**
 * Anybody may read, as through the CDN; who writes must sign, with whichever key. The store knows a key of its own
 * only, so it sees no signature at all.
 */
function mayPass({ method = "", headers }: IncomingMessage): boolean {
  const isSigned = headers.authorization?.startsWith("AWS4-HMAC-SHA256 Credential=") === true;
  delete headers.authorization;
  return isSigned || ["GET", "HEAD"].includes(method);
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

async function read(request: IncomingMessage): Promise<void> {
  for await (const _ of request);
}
