import type { Declaration } from "../lib/contract/declare.ts";
import { noFileService } from "../lib/contract/errors.ts";

/**
 * What API Gateway itself answers, in the envelope of the interface: a status and a message for each of its response
 * types (API Gateway, "Gateway response types"). The stacks and the local gateway both read this table.
 */
export const gatewayResponses = {
  MISSING_AUTHENTICATION_TOKEN: { status: 404, message: "Not found" },
  RESOURCE_NOT_FOUND: { status: 404, message: "Not found" },
  THROTTLED: { status: 429, message: "Too many requests" },
  QUOTA_EXCEEDED: { status: 429, message: "Too many requests" },
  REQUEST_TOO_LARGE: { status: 413, message: "Request too large" },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: "Unsupported media type" },
  INTEGRATION_TIMEOUT: { status: 504, message: "The request took too long" },
  INTEGRATION_FAILURE: { status: 500, message: "Internal server error" },
  ACCESS_DENIED: { status: 403, message: "Forbidden" },
  UNAUTHORIZED: { status: 401, message: "Unauthorized" },
  WAF_FILTERED: { status: 403, message: "Forbidden" },
  BAD_REQUEST_BODY: { status: 400, message: "Required parameters missing" },
  BAD_REQUEST_PARAMETERS: { status: 400, message: "Required parameters missing" },
  DEFAULT_4XX: { status: 400, message: "Bad request" },
  DEFAULT_5XX: { status: 500, message: "Internal server error" },
} as const satisfies Record<string, { status: number; message: string }>;

export type GatewayResponse = keyof typeof gatewayResponses;

/** What routes of the file service answer on instances without one. */
export const noFileServiceResponse = { status: 503, message: noFileService } as const;

export const envelopeOf = ({ status, message }: { status: number; message: string }): string =>
  JSON.stringify({ data: message, code: status });

const preflightSecondsMax = 600;

/**
 * The CORS headers of an answer to a page of this origin: administrative paths let the listed origins in, with their
 * cookie; public paths let everybody in, without.
 */
export function corsHeaders(
  { permission }: Pick<Declaration, "permission">,
  allowedOrigins: readonly string[],
  origin: string | undefined,
): Record<string, string> {
  if (!permission) return { "Access-Control-Allow-Origin": "*" };
  if (origin === undefined || !allowedOrigins.includes(origin)) return { Vary: "Origin" };
  return { "Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true", Vary: "Origin" };
}

/** The headers of a preflight's answer for a path whose endpoints have these methods. */
export function preflightHeaders(
  declarations: readonly Pick<Declaration, "permission" | "method">[],
  allowedOrigins: readonly string[],
  origin: string | undefined,
): Record<string, string> {
  const [first = {}] = declarations;
  const headers = corsHeaders(first, allowedOrigins, origin);
  if (!("Access-Control-Allow-Origin" in headers)) return headers;
  return {
    ...headers,
    "Access-Control-Allow-Methods": declarations.map(({ method }) => method).join(","),
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": String(preflightSecondsMax),
  };
}
