import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { signRequest } from "../../infra/aws-local/http/signature.ts";
import { key } from "../support/environment.ts";

export interface Recorder {
  readonly url: string;
  /** The last request, as JSON. */
  last(): string;
  close(): void;
}

/** Forwards each statement to a Data API once, and later answers the same statement from memory. */
export async function startRecorder(target: string): Promise<Recorder> {
  const known = new Map<string, string>();
  let last = "";
  const server = createServer(async (request, response) => {
    if (request.method === "GET") return response.end(last);
    last = await text(request);
    if (!known.has(last)) {
      // A signature is valid for one host only, so the forwarded request needs a new one.
      const url = new URL(`${target}${request.url}`);
      const headers = await signRequest("rds-data", key, url, "POST", Buffer.from(last));
      const answer = await fetch(url, { method: "POST", headers, body: last });
      known.set(last, await answer.text());
    }
    return response.writeHead(200, { "Content-Type": "application/json" }).end(known.get(last));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, last: () => last, close: () => server.close() };
}
