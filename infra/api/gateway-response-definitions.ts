import { exposedHeaders } from "../../lib/contract/headers.ts";
import {
  envelopeOf,
  type GatewayResponse,
  type GatewayResponseType,
  gatewayResponses,
  retryHeaders,
} from "./gateway-responses.ts";
import { constants } from "./mock.ts";

/** Responses to requests without a route, which are neither public nor administrative. */
const unknownRoutes: ReadonlySet<string> = new Set<GatewayResponseType>([
  "MISSING_AUTHENTICATION_TOKEN",
  "RESOURCE_NOT_FOUND",
]);

const headerParameter = "gatewayresponse.header";
const anyOrigin = constants(headerParameter, {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": exposedHeaders,
});
/**
 * A gateway response is the same for all routes, and its template has no conditions (API Gateway: "not processed by the
 * VTL engine"), so it cannot distinguish public from administrative paths. It therefore repeats the request's origin
 * and allows credentials, so that both the website and the admin panel can read it. That is safe: the response contains
 * only constants of gateway-responses.ts. A function's response has headers of its own. The header's name is in lower
 * case, because browsers use HTTP/2 with API Gateway.
 */
const requestOrigin = {
  ...anyOrigin,
  ...constants(headerParameter, { "Access-Control-Allow-Credentials": "true", Vary: "Origin" }),
  [`${headerParameter}.Access-Control-Allow-Origin`]: "method.request.header.origin",
};

/** The gateway responses for the OpenAPI document, each with the envelope of the interface. */
export const responseDefinitions = () =>
  Object.fromEntries(
    Object.entries<GatewayResponse>(gatewayResponses).map(([type, response]) => [
      type,
      {
        statusCode: String(response.status),
        responseParameters: {
          ...(unknownRoutes.has(type) ? anyOrigin : requestOrigin),
          ...constants(headerParameter, retryHeaders(response)),
        },
        responseTemplates: { "application/json": envelopeOf(response) },
      },
    ]),
  );
