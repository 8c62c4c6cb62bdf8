import { type IncomingHttpHeaders, request } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { writeFunctions as writeAnywhere } from "../../../infra/aws-local/test/functions.ts";
import { declare } from "../../../lib/contract/declare.ts";

export { streaming } from "../../../infra/aws-local/test/functions.ts";

/** Beneath node_modules, so that they find packages. */
export const writeFunctions = (sources: Readonly<Record<string, string>>) =>
  writeAnywhere(sources, join(import.meta.dirname, "../../../node_modules/.cache"));

const common = { summary: "", errors: {} } as const;
const administrative = { ...common, permission: "view-users" } as const;

/** One endpoint of every kind. */
export const endpoints = [
  declare({ ...common, method: "GET", path: "/things", answers: { list: "Work" } }),
  declare({ ...common, method: "GET", path: "/things/random", answers: { record: "Slug" } }),
  declare({ ...common, method: "GET", path: "/{kind}/random", answers: { record: "Slug" } }),
  declare({ ...common, method: "POST", path: "/things/add", answers: { message: "Thing added" } }),
  declare({ ...administrative, method: "GET", path: "/admin-things/id/{id}", answers: { record: "Slug" } }),
  declare({ ...administrative, method: "DELETE", path: "/admin-things/id/{id}", answers: { message: "Gone" } }),
  declare({
    ...administrative,
    method: "POST",
    path: "/admin-things/image/{id}",
    answers: { message: "" },
    files: true,
  }),
];

/** Answers with the event it was given. */
export const echo = `export const handler = async (event) => ({ statusCode: 200, body: JSON.stringify(event) });`;

/** Answers with whatever result the request's body holds. */
export const obey = `export const handler = async ({ body }) => JSON.parse(body);`;

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
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

/** What a client of the SDK would send, signed; it goes nowhere. */
export async function captured(
  run: (requestHandler: { handle(request: unknown): Promise<never> }) => Promise<unknown>,
): Promise<{ method: string; path: string; headers: Record<string, string>; body: string }> {
  const { promise, resolve } = Promise.withResolvers<HttpRequest>();
  const handle = async (request: unknown) => {
    resolve(request as HttpRequest);
    throw new Error("Captured");
  };
  await run({ handle }).catch(() => {});
  const { method, path, query = {}, headers, body } = await promise;
  return {
    method,
    path: `${path}?${new URLSearchParams(query)}`.replace(/\?$/, ""),
    headers,
    body: Buffer.from(body).toString(),
  };
}

interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Record<string, string>;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array;
}
