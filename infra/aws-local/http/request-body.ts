import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gunzip, inflate } from "node:zlib";
import type { GatewayResponseType } from "../../api/gateway-responses.ts";

/** The body of a request, or the error that the gateway answers. */
export type ReceivedBody = { readonly body: Buffer } | { readonly error: GatewayResponseType };

const decoders = { gzip: promisify(gunzip), deflate: promisify(inflate) };

/**
 * Reads a body of limited size. API Gateway decompresses compressed bodies ("Payload compression"); the limit holds for
 * the decompressed body as well.
 */
export async function receiveBody(request: IncomingMessage, bytesMax: number): Promise<ReceivedBody> {
  const body = await read(request, bytesMax);
  if (!body) return { error: "REQUEST_TOO_LARGE" };
  const coding = request.headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (coding === "identity") return { body };
  if (coding !== "gzip" && coding !== "deflate") return { error: "UNSUPPORTED_MEDIA_TYPE" };
  try {
    return { body: await decoders[coding](body, { maxOutputLength: bytesMax }) };
  } catch (error) {
    const isTooLarge = error instanceof RangeError;
    return { error: isTooLarge ? "REQUEST_TOO_LARGE" : "BAD_REQUEST_BODY" };
  }
}

/** Undefined when it is too large. It is read to its end nevertheless, because clients read no answer before. */
export async function read(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  const { "content-length": length, "transfer-encoding": coding } = request.headers;
  if (coding === undefined && (length === undefined || length === "0")) return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else chunks.length = 0;
  }
  return bytes > bytesMax ? undefined : Buffer.concat(chunks);
}
