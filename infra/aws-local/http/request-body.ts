import type { IncomingMessage } from "node:http";

/** Reads a body; undefined when it is too large. It is read to its end nevertheless, because clients read no response before. */
export async function read(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  const { headers } = request;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Without an async iterator, which costs a few promises for each chunk.
  const { promise: end, resolve, reject } = Promise.withResolvers<void>();
  request
    .once("end", resolve)
    .once("error", reject)
    .once("close", () => reject(new Error("The client went away")));
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else chunks.length = 0;
  });
  await end;
  return bytes > bytesMax ? undefined : Buffer.concat(chunks);
}
