import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
  readonly json: any;
}

interface Sending {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string | Buffer;
}

/** Sends a request with exactly this path, which `fetch` would tidy up, and exactly these headers. */
export async function send(
  url: string,
  path: string,
  { method = "GET", headers = {}, body }: Sending = {},
): Promise<Reply> {
  const { hostname, port } = new URL(url);
  const length = body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) };
  const outgoing = request({ hostname, port, path, method, agent: false, headers: { ...length, ...headers } });
  // An early response may break off what is still being sent.
  outgoing.on("error", () => {}).end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  const { statusCode: status = 0, headers: received } = response;
  const bytes = await buffer(response);
  const text = (received["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes).toString();
  return { status, headers: received, text, json: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
