import { chmod, mkdir } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { listenToClients } from "../http/listen.ts";
import { ServiceError } from "../http/service-error.ts";
import type { Key } from "../http/signature.ts";
import { bodyReader } from "../http/signed-body.ts";
import { openBucket } from "./bucket.ts";
import type { Response } from "./call.ts";
import { operationOf } from "./operations.ts";

export interface S3Options {
  /** Where objects are kept: a folder for each bucket. */
  readonly directory: string;
  /** Their names. */
  readonly buckets: readonly string[];
  /** To which the buckets belong. Default: 123456789012. */
  readonly account?: string;
  /** The key that requests must be signed with. */
  readonly key: Key;
  /** Default: a free one, on 127.0.0.1. */
  readonly port?: number;
  readonly serve?: Serve;
}

/**
 * Serves a request, named as `PUT /images/avatars/….webp`. Returns undefined where the connection breaks instead. Tests
 * observe and break requests by another one.
 */
export type Serve = (request: string, serve: () => Promise<Response>) => Promise<Response | undefined>;

/** Of an object, or a part of one. */
const bodyBytesMax = 16 * 1_048_576;

/** Starts an S3 that puts, gets, copies, deletes and lists objects, and their versions, in the given buckets. */
export async function startS3({
  directory,
  buckets: names,
  account = "123456789012",
  key,
  port,
  serve = (_, operation) => operation(),
}: S3Options) {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // An earlier start may have created it for everybody to read.
  await chmod(directory, 0o700);
  const opened = names.map(async (name) => [name, await openBucket(join(directory, name))] as const);
  const buckets = new Map(await Promise.all(opened));
  const bodyOf = bodyReader("s3", key, 400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size");

  const respond = async (request: IncomingMessage): Promise<Response | undefined> => {
    const body = await bodyOf(request, bodyBytesMax);
    const { "x-amz-expected-bucket-owner": owner = account } = request.headers;
    if (owner !== account) throw new ServiceError(403, "AccessDenied", "Access Denied");
    const operation = operationOf(buckets, request, body);
    return await serve(`${request.method} ${request.url?.replace(/[?&]x-id=\w+/, "")}`, operation);
  };

  const server = createServer(async (request, response) => {
    const result = await respond(request).catch((error) => errorResponse(serviceErrorOf(error)));
    if (result) send(response, result);
    else response.destroy();
  });
  return await listenToClients(server, port);
}

const errorResponse = ({ status, type, message }: ServiceError): Response => ({
  status,
  body: `<Error><Code>${type}</Code><Message>${message}</Message></Error>`,
});

function serviceErrorOf(error: NodeJS.ErrnoException): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof URIError) return new ServiceError(400, "InvalidURI", "Couldn't parse the specified URI.");
  // Of the file system, whose names are shorter than S3's keys.
  if (error.code === "ENAMETOOLONG") return new ServiceError(400, "KeyTooLongError", "Your key is too long");
  console.error(error);
  return new ServiceError(500, "InternalError", "We encountered an internal error. Please try again.");
}

function send(response: ServerResponse, { status, headers = {}, body }: Response): void {
  const isXml = typeof body === "string";
  const content = isXml ? Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n${body}`) : body;
  const type = isXml && { "content-type": "application/xml" };
  const length = status !== 204 && status !== 304 && { "content-length": content?.length ?? 0 };
  response.writeHead(status, { ...type, ...length, ...headers }).end(content);
}
