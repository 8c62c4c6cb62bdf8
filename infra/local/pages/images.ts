import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { PageHandler } from "../../aws-local/api-gateway/server.ts";
import { type Key, signRequest } from "../../aws-local/http/signature.ts";
import { imageBucket } from "../stage/functions.ts";

/** Keys of the bucket; no others leave this machine's S3. */
const path = /^\/images\/([a-z]+\/[\w-]+\.(?:webp|svg))(?:\?.*)?$/;

/**
 * Serves `/images/{key}` from S3 with the headers of the CDN, as `pages` of the gateway; like the CDN, it signs what it
 * asks for. Anybody may see an image who knows its URL, on any site.
 */
export const imagePages =
  (s3Url: string, signingKey: Key): PageHandler =>
  async ({ method = "", url = "", headers }, response) => {
    if (!url.startsWith("/images/") || !["GET", "HEAD"].includes(method)) return false;
    const key = path.exec(url)?.[1];
    const found = key && (await read(`${s3Url}/${imageBucket}/${key}`, signingKey, headers["if-none-match"]));
    if (!found || (found.status !== 200 && found.status !== 304)) {
      if (found) await found.body?.cancel();
      response.writeHead(404, { ...imageHeaders, "Cache-Control": "no-store" }).end();
      return true;
    }
    const kept = [...found.headers].filter(([name]) => keptHeaders.has(name));
    response.writeHead(found.status, { ...imageHeaders, ...Object.fromEntries(kept) });
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

const keptHeaders = new Set(["content-type", "cache-control", "etag", "content-length", "last-modified"]);

const read = async (url: string, key: Key, etag = ""): Promise<Response> =>
  await fetch(url, { headers: { "If-None-Match": etag, ...(await signRequest("s3", key, new URL(url))) } });
