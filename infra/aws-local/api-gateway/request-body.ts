import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gunzip, inflate } from "node:zlib";
import { read } from "../http/request-body.ts";
import { GatewayError } from "./gateway-responses.ts";

const decoders = { gzip: promisify(gunzip), deflate: promisify(inflate) };

/**
 * Reads a body of limited size. API Gateway decompresses compressed bodies ("Payload compression"); the limit holds for
 * the decompressed body as well.
 * @throws {GatewayError}
 */
export async function receiveBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const body = await read(request, bytesMax);
  if (!body) throw new GatewayError("REQUEST_TOO_LARGE");
  const coding = request.headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (coding === "identity") return body;
  if (coding !== "gzip" && coding !== "deflate") throw new GatewayError("UNSUPPORTED_MEDIA_TYPE");
  try {
    return await decoders[coding](body, { maxOutputLength: bytesMax });
  } catch (error) {
    throw new GatewayError(error instanceof RangeError ? "REQUEST_TOO_LARGE" : "BAD_REQUEST_BODY");
  }
}
