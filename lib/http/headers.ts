import { hash } from "node:crypto";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { type Declaration, isCacheable } from "../contract/declare.ts";
import { cacheTagHeader } from "../contract/headers.ts";
import { durationOf } from "./log.ts";
import type { Hook, Middleware } from "./response.ts";

/** A header of the request; `name` is in lower case. */
export function headerOf({ headers }: APIGatewayProxyEvent, name: string): string | undefined {
  for (const key in headers) if (key.toLowerCase() === name) return headers[key];
  return undefined;
}

/** Whether the client accepts gzip: it names the encoding, and without the weight 0 (RFC 9110, "Accept-Encoding"). */
export const acceptsGzip = (event: APIGatewayProxyEvent): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(headerOf(event, "accept-encoding") ?? "");

const security = {
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
};

/** How long the edge of this stage keeps a response, unless it is invalidated; undefined without an edge. */
const edgeSeconds = process.env.SHARED_CACHE_SECONDS;

/**
 * A response that took longer may be older than a change whose tags are invalidated before the response arrives
 * (lib/operators/stale-tags.ts). The edge keeps it for a few seconds, not for none: so when the database is slow, each
 * URL is read once in that time.
 */
const slowInMilliseconds = 500;
const slowSharedSeconds = 5;

/**
 * Browsers cannot be invalidated, so they keep a public response for a minute only. Caches serve an old response for
 * another minute while they fetch a new one, and for a day while there are errors. API Gateway may compress a response,
 * and panels get CORS headers of their own, hence `Vary`.
 */
const cacheable = (sharedSeconds: number | string) => ({
  ...security,
  "Cache-Control": `public, max-age=60, s-maxage=${sharedSeconds}, stale-while-revalidate=60, stale-if-error=86400`,
  Vary: "Accept-Encoding, Origin",
});
export const uncacheable = { ...security, "Cache-Control": "no-store" };

/** A weak ETag, since API Gateway may compress the response. */
export const etagOf = (text: string): string => `W/"${hash("sha1", text, "base64url")}"`;

/**
 * Sets security and cache headers: a response is cached if its handler has set cache tags, since without them it could
 * not be invalidated. Clients that already have the ETag of one get 304, but not the edge, which might forget the tags.
 * A response to HEAD has the headers of the response to GET, and no body.
 */
export function responseHeaders(declaration: Declaration): Middleware {
  const mayCache = isCacheable(declaration);
  const setHeaders: Hook = ({ event, response }) => {
    if (!response) return;
    const isCached = mayCache && response.statusCode === 200 && cacheTagHeader in response.headers;
    const isSlow = edgeSeconds !== undefined && durationOf(event) > slowInMilliseconds;
    const sharedSeconds = isSlow ? slowSharedSeconds : (edgeSeconds ?? 600);
    Object.assign(response.headers, isCached ? cacheable(sharedSeconds) : uncacheable);
    if (isCached && "record" in declaration.response && typeof response.body === "string")
      response.headers.ETag = etagOf(response.body);
    const isNotModified = isCached && isKnown(event, response.headers.ETag);
    if (isNotModified) response.statusCode = 304;
    if (isNotModified || event.httpMethod === "HEAD") response.body = "";
  };
  return { after: setHeaders, onError: setHeaders };
}

/** Whether the client is no edge, and has the response with this ETag, or any (RFC 9110, "If-None-Match"). */
export function isKnown(event: APIGatewayProxyEvent, tag: string | undefined): boolean {
  if (tag === undefined || edgeSeconds !== undefined) return false;
  const known = headerOf(event, "if-none-match")
    ?.split(",")
    .map((each) => each.trim().replace(/^W\//, ""));
  return known !== undefined && (known.includes(tag.replace(/^W\//, "")) || known.includes("*"));
}
