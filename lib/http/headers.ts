import { hash } from "node:crypto";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { type Declaration, isPublic } from "../contract/declare.ts";
import type { Exchange, Middleware, Response } from "./response.ts";

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

/**
 * Browsers and the CDN cache public answers for a minute. They serve an old answer for ten more minutes while they
 * fetch a new one, and for a day while there are errors. API Gateway may compress an answer, hence `Vary`.
 */
const cacheable = {
  ...security,
  "Cache-Control": "public, max-age=60, stale-while-revalidate=600, stale-if-error=86400",
  Vary: "Accept-Encoding",
};
/** A handler sets it for an answer that must not be cached although its endpoint's answers are cacheable. */
export const notCached = { "Cache-Control": "no-store" } as const;
const uncacheable = { ...security, ...notCached };

/**
 * Sets security and cache headers. Answers 304 to clients that already have a public record. An answer to HEAD gets the
 * headers of the answer to GET, and no body.
 */
export function responseHeaders(declaration: Declaration): Middleware {
  const isCacheable = isPublic(declaration) && !declaration.notCacheable;
  const setHeaders = ({ event, response }: Exchange) => {
    if (!response) return;
    const mayCache = isCacheable && response.statusCode === 200 && !("Cache-Control" in response.headers);
    Object.assign(response.headers, mayCache ? cacheable : uncacheable);
    if (mayCache && "record" in declaration.response) respondNotModified(event, response);
    if (event.httpMethod === "HEAD") response.body = "";
  };
  return { after: setHeaders, onError: setHeaders };
}

/** Sets a weak ETag, since API Gateway may compress the answer, and answers 304 if the client has it. */
function respondNotModified(event: APIGatewayProxyEvent, response: Response): void {
  if (typeof response.body !== "string") return;
  const tag = `W/"${hash("sha1", response.body, "base64url")}"`;
  response.headers.ETag = tag;
  const clientTags = headerOf(event, "if-none-match")
    ?.split(",")
    .map((each) => each.trim().replace(/^W\//, ""));
  if (clientTags?.includes(tag.replace(/^W\//, "")) || clientTags?.includes("*")) {
    response.statusCode = 304;
    response.body = "";
  }
}
