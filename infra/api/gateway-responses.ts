import { type Declaration, methodsOf } from "../../lib/contract/declare.ts";
import { commonErrors, noFileService } from "../../lib/contract/errors.ts";
import { exposedHeaders } from "../../lib/contract/headers.ts";

/** A throttle's token bucket is refilled every second. */
const tooManyRequests = { status: 429, message: "Too many requests", retryAfterSeconds: 1 } as const;

/**
 * API Gateway's own responses, in the envelope of the interface: a status and a message for each response type (API
 * Gateway, "Gateway response types"). The stacks and the local gateway both use this table.
 *
 * A type that is not in the table has the response DEFAULT_4XX or DEFAULT_5XX, with its status: the template of a
 * response cannot contain the original status. So a malformed answer of a function is 500, as in the interface, and not
 * 502.
 */
export const gatewayResponses = {
  BAD_REQUEST_BODY: { status: 400, message: commonErrors[400] },
  BAD_REQUEST_PARAMETERS: { status: 400, message: commonErrors[400] },
  UNAUTHORIZED: { status: 401, message: commonErrors[401] },
  ACCESS_DENIED: { status: 403, message: commonErrors[403] },
  WAF_FILTERED: { status: 403, message: commonErrors[403] },
  // There are no authorizers, so this type means that there is no such route, or not with this method.
  MISSING_AUTHENTICATION_TOKEN: { status: 404, message: "Not found" },
  RESOURCE_NOT_FOUND: { status: 404, message: "Not found" },
  REQUEST_TOO_LARGE: { status: 413, message: commonErrors[413] },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: "Unsupported media type" },
  QUOTA_EXCEEDED: tooManyRequests,
  THROTTLED: tooManyRequests,
  // The function did not answer: no concurrency is left (Lambda's 429), Lambda failed, or the function crashed. So what
  // it was to change may have been changed.
  INTEGRATION_FAILURE: { status: 503, message: commonErrors[503], retryAfterSeconds: 5 },
  INTEGRATION_TIMEOUT: { status: 504, message: "Endpoint request timed out", retryAfterSeconds: 5 },
  DEFAULT_4XX: { status: 400, message: "Bad request" },
  DEFAULT_5XX: { status: 500, message: commonErrors[500] },
} as const satisfies Record<string, GatewayResponse>;

export interface GatewayResponse {
  readonly status: number;
  readonly message: string;
  /** When the client may try again, if that can help. */
  readonly retryAfterSeconds?: number;
}

export type GatewayResponseType = keyof typeof gatewayResponses;

/** The response of the file service's routes on a stage without uploads. */
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
  return allowsOrigin(headers) ? { ...headers, "Access-Control-Expose-Headers": exposedHeaders } : headers;
}

/** The headers of a preflight's answer for a path whose endpoints have these methods. */
export function preflightHeaders(
  declarations: readonly Pick<Declaration, "permission" | "method">[],
  allowedOrigins: readonly string[],
  origin: string | undefined,
): Record<string, string> {
  const permission = declarations[0]?.permission;
  const headers = originHeaders(permission, allowedOrigins, origin);
  if (!allowsOrigin(headers)) return headers;
  return {
    ...headers,
    "Access-Control-Allow-Methods": declarations.flatMap(methodsOf).join(","),
    "Access-Control-Allow-Headers": permission ? "Content-Type, If-Match, Idempotency-Key" : "Content-Type",
    "Access-Control-Max-Age": String(preflightSecondsMax),
  };
}

/** Administrative paths allow the listed origins, with cookies; public paths allow all origins, without cookies. */
function originHeaders(
  permission: Declaration["permission"],
  allowedOrigins: readonly string[],
  origin: string | undefined,
): Record<string, string> {
  if (!permission) return { "Access-Control-Allow-Origin": "*" };
  if (origin === undefined || !allowedOrigins.includes(origin)) return { Vary: "Origin" };
  return { "Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true", Vary: "Origin" };
}

const allowsOrigin = (headers: Readonly<Record<string, string>>) => "Access-Control-Allow-Origin" in headers;
