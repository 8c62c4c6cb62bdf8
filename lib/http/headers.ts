import { hash } from "node:crypto";
import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Declaration } from "../contract/declare.ts";
import type { Exchange, Middleware, Response } from "./response.ts";

/** A header of the request, whatever the case of its name. */
export function headerOf({ headers }: APIGatewayProxyEvent, name: string): string | undefined {
  for (const key in headers) if (key.toLowerCase() === name) return headers[key];
  return undefined;
}

const security = {
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
};

/**
 * Website and CDN keep public answers for a minute, show them ten more while they fetch anew, and a day when there is
 * nothing to be fetched. API Gateway may compress an answer on its way, so caches keep both forms apart.
 */
const shared = {
  ...security,
  "Cache-Control": "public, max-age=60, stale-while-revalidate=600, stale-if-error=86400",
  Vary: "Accept-Encoding",
};
const unshared = { ...security, "Cache-Control": "no-store" };

/**
 * Adds security and cache headers; answers 304 to clients that already hold a buffered public answer. To HEAD all of
 * this is said as it would be of the body, and there is none.
 */
export function describe(declaration: Declaration): Middleware {
  const isCacheable = !declaration.permission && !declaration.volatile;
  const describeResponse = ({ event, response }: Exchange) => {
    if (!response) return;
    const mayKeep = isCacheable && response.statusCode === 200;
    Object.assign(response.headers, mayKeep ? shared : unshared);
    if (mayKeep && "record" in declaration.answers) answerUnchanged(event, response);
    if (event.httpMethod === "HEAD") response.body = "";
  };
  return { after: describeResponse, onError: describeResponse };
}

/** A weak ETag, since API Gateway may compress the answer on its way. */
function answerUnchanged(event: APIGatewayProxyEvent, response: Response): void {
  if (typeof response.body !== "string") return;
  const tag = `W/"${hash("sha1", response.body, "base64url")}"`;
  response.headers.ETag = tag;
  const known = headerOf(event, "if-none-match")
    ?.split(",")
    .map((each) => each.trim().replace(/^W\//, ""));
  if (known?.includes(tag.replace(/^W\//, "")) || known?.includes("*")) {
    response.statusCode = 304;
    response.body = "";
  }
}
