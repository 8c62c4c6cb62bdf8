import { type Declaration, methodsOf } from "../lib/contract/declare.ts";
import { commonErrors, noFileService } from "../lib/contract/errors.ts";
import { exposedHeaders } from "../lib/contract/headers.ts";

/** Buckets of throttles fill up again second by second. */
const tooManyRequests = { status: 429, message: "Too many requests", retryAfterSeconds: 1 } as const;

/**
 * What API Gateway itself answers, in the envelope of the interface: a status and a message for each of its response
 * types (API Gateway, "Gateway response types"). The stacks and the local gateway both read this table.
 *
 * A type without a row falls to its default, and a default has one status for all of them: API Gateway has no variable
 * for the status in a response's template. So an answer of a function that has no sense is 500 here, as in the
 * interface, and not 502.
 */
export const gatewayResponses = {
  BAD_REQUEST_BODY: { status: 400, message: commonErrors[400] },
  BAD_REQUEST_PARAMETERS: { status: 400, message: commonErrors[400] },
  UNAUTHORIZED: { status: 401, message: commonErrors[401] },
  ACCESS_DENIED: { status: 403, message: commonErrors[403] },
  WAF_FILTERED: { status: 403, message: commonErrors[403] },
  // Without authorizers this says nothing but that there is no such route, or not with this method.
  MISSING_AUTHENTICATION_TOKEN: { status: 404, message: "Not found" },
  RESOURCE_NOT_FOUND: { status: 404, message: "Not found" },
  REQUEST_TOO_LARGE: { status: 413, message: commonErrors[413] },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: "Unsupported media type" },
  QUOTA_EXCEEDED: tooManyRequests,
  THROTTLED: tooManyRequests,
  // The function gave no answer: all that may run of it at once do (Lambda's 429), Lambda itself fails, or it died.
  INTEGRATION_FAILURE: { status: 503, message: commonErrors[503], retryAfterSeconds: 5 },
  INTEGRATION_TIMEOUT: { status: 504, message: "Endpoint request timed out", retryAfterSeconds: 5 },
  DEFAULT_4XX: { status: 400, message: "Bad request" },
  DEFAULT_5XX: { status: 500, message: commonErrors[500] },
} as const satisfies Record<string, GatewayResponse>;

export interface GatewayResponse {
  readonly status: number;
  readonly message: string;
  /** When it is worth asking again, where that helps. */
  readonly retryAfterSeconds?: number;
}

export type GatewayResponseType = keyof typeof gatewayResponses;

/** What routes of the file service answer on instances without one. */
export const noFileServiceResponse: GatewayResponse = { status: 503, message: noFileService };

export const envelopeOf = ({ status, message }: GatewayResponse): string =>
  JSON.stringify({ data: message, code: status });

export const retryHeaders = ({ retryAfterSeconds }: GatewayResponse): Record<string, string> =>
  retryAfterSeconds === undefined ? {} : { "Retry-After": String(retryAfterSeconds) };

const preflightSecondsMax = 600;

/** The CORS headers of an answer to a page of this origin. */
export function corsHeaders(
  { permission }: Pick<Declaration, "permission">,
  allowedOrigins: readonly string[],
  origin: string | undefined,
): Record<string, string> {
  const headers = originHeaders(permission, allowedOrigins, origin);
  return isLetIn(headers) ? { ...headers, "Access-Control-Expose-Headers": exposedHeaders } : headers;
}

/** The headers of a preflight's answer for a path whose endpoints have these methods. */
export function preflightHeaders(
  declarations: readonly Pick<Declaration, "permission" | "method">[],
  allowedOrigins: readonly string[],
  origin: string | undefined,
): Record<string, string> {
  const permission = declarations[0]?.permission;
  const headers = originHeaders(permission, allowedOrigins, origin);
  if (!isLetIn(headers)) return headers;
  return {
    ...headers,
    "Access-Control-Allow-Methods": declarations.flatMap(methodsOf).join(","),
    "Access-Control-Allow-Headers": permission ? "Content-Type, If-Match, Idempotency-Key" : "Content-Type",
    "Access-Control-Max-Age": String(preflightSecondsMax),
  };
}

/** Administrative paths let the listed origins in, with their cookie; public paths let everybody in, without. */
function originHeaders(
  permission: Declaration["permission"],
  allowedOrigins: readonly string[],
  origin: string | undefined,
): Record<string, string> {
  if (!permission) return { "Access-Control-Allow-Origin": "*" };
  if (origin === undefined || !allowedOrigins.includes(origin)) return { Vary: "Origin" };
  return { "Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true", Vary: "Origin" };
}

const isLetIn = (headers: Readonly<Record<string, string>>) => "Access-Control-Allow-Origin" in headers;
