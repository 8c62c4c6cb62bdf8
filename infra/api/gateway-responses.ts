import { commonErrors } from "../../lib/contract/errors.ts";
import { exposedHeaders } from "../../lib/contract/headers.ts";
import { constants } from "./mock.ts";

/** A response of API Gateway itself, in the envelope of the interface. */
export interface GatewayResponse {
  readonly status: number;
  readonly message: string;
  /** When the client may try again, if that can help. */
  readonly retryAfterSeconds?: number;
}

/** A throttle's token bucket is refilled every second. */
const tooManyRequests = { status: 429, message: "Too many requests", retryAfterSeconds: 1 } as const;

/**
 * A status and a message for each response type (API Gateway, "Gateway response types").
 *
 * A type that is not in the table has the response DEFAULT_4XX or DEFAULT_5XX, with its status: the template of a
 * response cannot contain the original status. So a malformed response of a function is 500, as in the interface, and not
 * 502.
 */
export const gatewayResponses = {
  BAD_REQUEST_BODY: { status: 400, message: commonErrors[400] },
  BAD_REQUEST_PARAMETERS: { status: 400, message: commonErrors[400] },
  UNAUTHORIZED: { status: 401, message: commonErrors[401] },
  ACCESS_DENIED: { status: 403, message: commonErrors[403] },
  // The key that only CloudFront sends is missing or wrong.
  INVALID_API_KEY: { status: 403, message: commonErrors[403] },
  WAF_FILTERED: { status: 403, message: commonErrors[403] },
  // There are no authorizers, so this type means that there is no such route, or not with this method.
  MISSING_AUTHENTICATION_TOKEN: { status: 404, message: "Not found" },
  RESOURCE_NOT_FOUND: { status: 404, message: "Not found" },
  REQUEST_TOO_LARGE: { status: 413, message: commonErrors[413] },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: commonErrors[415] },
  QUOTA_EXCEEDED: tooManyRequests,
  THROTTLED: tooManyRequests,
  // The function did not respond: no concurrency is left (Lambda's 429), Lambda failed, or the function crashed. So what
  // it was to change may have been changed.
  INTEGRATION_FAILURE: { status: 503, message: commonErrors[503], retryAfterSeconds: 5 },
  INTEGRATION_TIMEOUT: { status: 504, message: "Endpoint request timed out", retryAfterSeconds: 5 },
  DEFAULT_4XX: { status: 400, message: "Bad request" },
  DEFAULT_5XX: { status: 500, message: commonErrors[500] },
} as const satisfies Record<string, GatewayResponse>;

export const envelopeOf = ({ status, message }: GatewayResponse): string =>
  JSON.stringify({ data: message, code: status });

/** Types of responses to requests without a route. */
const unknownRoutes: ReadonlySet<string> = new Set<keyof typeof gatewayResponses>([
  "MISSING_AUTHENTICATION_TOKEN",
  "RESOURCE_NOT_FOUND",
]);

const headerParameter = "gatewayresponse.header";
/**
 * A gateway response is the same for all routes, and its template has no conditions (API Gateway: "not processed by the
 * VTL engine"), so it cannot distinguish public from administrative paths. It therefore repeats the request's origin
 * and allows credentials, so that both the website and the admin panel can read it. That is safe: the response contains
 * only constants of this file. A function's response has headers of its own. The header's name is in lower case, because
 * browsers use HTTP/2 with API Gateway.
 */
const requestOrigin = {
  ...constants(headerParameter, {
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Expose-Headers": exposedHeaders,
    Vary: "Origin",
  }),
  [`${headerParameter}.Access-Control-Allow-Origin`]: "method.request.header.origin",
};

/**
 * The gateway responses as the API document defines them.
 * @param reference where people read which routes there are
 */
export const gatewayResponseDefinitions = (reference: string | undefined) =>
  Object.fromEntries(
    Object.entries<GatewayResponse>(gatewayResponses).map(([type, response]) => [
      type,
      {
        statusCode: String(response.status),
        responseParameters: {
          ...requestOrigin,
          ...constants(headerParameter, retryHeaders(response)),
          ...(unknownRoutes.has(type) && reference
            ? constants(headerParameter, { Link: `<${reference}>; rel=help` })
            : {}),
        },
        responseTemplates: { "application/json": envelopeOf(response) },
      },
    ]),
  );

const retryHeaders = ({ retryAfterSeconds }: GatewayResponse): Record<string, string> =>
  retryAfterSeconds === undefined ? {} : { "Retry-After": String(retryAfterSeconds) };
