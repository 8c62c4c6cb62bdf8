import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Key, signRequest } from "../../aws-local/http/signature.ts";
import { imageBucket } from "../stage/functions.ts";

/** Keys of the bucket; no others leave this machine's S3. */
const path = /^\/images\/([a-z]+\/[\w-]+\.(?:webp|svg))(?:\?.*)?$/;

/**
 * Serves `/images/{key}` from S3 with the headers of the CDN, as `pages` of the gateway; like the CDN, it signs what it
 * asks for. Anybody may see an image who knows its URL, on any site.
 * @returns whether it has responded
 */
export const imagePages =
  (s3Url: string, signingKey: Key) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const { method = "", url = "" } = request;
    if (!url.startsWith("/images/") || !["GET", "HEAD"].includes(method)) return false;
    const key = path.exec(url)?.[1];
    const found = key ? await read(request, `${s3Url}/${imageBucket}/${key}`, signingKey) : undefined;
    if (!found || (found.status !== 200 && found.status !== 304)) {
      await found?.body?.cancel();
      response.writeHead(404, { ...imageHeaders, "Cache-Control": "no-store" }).end();
      return true;
    }
    response.writeHead(found.status, { ...imageHeaders, ...objectHeaders(found) });
    if (method === "GET" && found.body) await pipeline(Readable.fromWeb(found.body), response).catch(() => {});
    else response.end();
    return true;
  };

/** Headers of every image, as of the CDN. */
export const imageHeaders = {
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "default-src 'none'; sandbox",
  "Cross-Origin-Resource-Policy": "cross-origin",
};

const read = async (request: IncomingMessage, url: string, key: Key): Promise<Response> =>
  await fetch(url, { headers: { ...conditions(request), ...(await signRequest("s3", key, new URL(url))) } });

const conditions = ({ headers }: IncomingMessage): Record<string, string> =>
  headers["if-none-match"] ? { "If-None-Match": headers["if-none-match"] } : {};

function objectHeaders({ headers }: Response): Record<string, string> {
  const kept = ["content-type", "cache-control", "etag", "content-length", "last-modified"];
  return Object.fromEntries(kept.flatMap((name) => (headers.has(name) ? [[name, headers.get(name) ?? ""]] : [])));
}
