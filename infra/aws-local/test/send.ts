import { type IncomingHttpHeaders, request } from "node:http";
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
  const answered = new Promise<Reply>((resolve, reject) => {
    outgoing.once("error", reject).once("response", async (response) => {
      try {
        const bytes = await buffer(response);
        const isZipped = response.headers["content-encoding"] === "gzip";
        const text = (isZipped ? gunzipSync(bytes) : bytes).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) });
      } catch (error) {
        reject(error);
      }
    });
  });
  outgoing.end(body);
  return await answered;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
