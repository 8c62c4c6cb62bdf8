import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gunzip, inflate } from "node:zlib";
import type { GatewayResponseType } from "../../gateway-responses.ts";

/** The body of a request, or why the gateway refuses it. */
export type ReceivedBody = { readonly body: Buffer } | { readonly refusal: GatewayResponseType };

const decoders = { gzip: promisify(gunzip), deflate: promisify(inflate) };

/**
 * Reads a body of limited size. API Gateway decompresses what comes compressed ("Payload compression"); the limit holds
 * for what unfolds as well.
 */
export async function receiveBody(request: IncomingMessage, bytesMax: number): Promise<ReceivedBody> {
  const body = await read(request, bytesMax);
  if (!body) return { refusal: "REQUEST_TOO_LARGE" };
  const coding = request.headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (coding === "identity") return { body };
  if (coding !== "gzip" && coding !== "deflate") return { refusal: "UNSUPPORTED_MEDIA_TYPE" };
  try {
    return { body: await decoders[coding](body, { maxOutputLength: bytesMax }) };
  } catch (error) {
    const isTooLarge = error instanceof RangeError;
    return { refusal: isTooLarge ? "REQUEST_TOO_LARGE" : "BAD_REQUEST_BODY" };
  }
}

/** Undefined when it is too large; it is read to its end nevertheless, so that the client hears the answer. */
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
