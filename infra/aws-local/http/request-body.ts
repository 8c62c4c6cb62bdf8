import type { IncomingMessage } from "node:http";

/** Reads a body; undefined when it is too large. It is read to its end nevertheless, because clients read no response before. */
export async function read(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  const { headers } = request;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else chunks.length = 0;
  }
  return bytes > bytesMax ? undefined : Buffer.concat(chunks);
}
