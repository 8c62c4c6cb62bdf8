import { exposedHeaders } from "../../../lib/contract/headers.ts";
import {
  envelopeOf,
  type GatewayResponse,
  type GatewayResponseType,
  gatewayResponses,
  retryHeaders,
} from "../../gateway-responses.ts";
import { constants } from "./mock.ts";

/** There is no route, so there is no endpoint whose pages could be told apart. */
const unknownRoutes: ReadonlySet<string> = new Set<GatewayResponseType>([
  "MISSING_AUTHENTICATION_TOKEN",
  "RESOURCE_NOT_FOUND",
]);

const place = "gatewayresponse.header";
const everyOrigin = constants(place, {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": exposedHeaders,
});
/**
 * Answers of the gateway itself are one for all routes, and their templates know no conditions (API Gateway: "not
 * processed by the VTL engine"), so public and administrative paths cannot be told apart here. The page's origin is
 * echoed, with credentials, so that both the website and the admin panel can read them. That gives nothing away: what
 * they say are the constants of gateway-responses.ts, never an answer of a function, which carries headers of its own.
 * Browsers speak HTTP/2 to API Gateway, where names of headers are in lower case.
 */
const anyOrigin = {
  ...everyOrigin,
  ...constants(place, { "Access-Control-Allow-Credentials": "true", Vary: "Origin" }),
  [`${place}.Access-Control-Allow-Origin`]: "method.request.header.origin",
};

/** What API Gateway refuses by itself, in the envelope of the interface. */
export const refusals = () =>
  Object.fromEntries(
    Object.entries<GatewayResponse>(gatewayResponses).map(([type, response]) => [
      type,
      {
        statusCode: String(response.status),
        responseParameters: {
          ...(unknownRoutes.has(type) ? everyOrigin : anyOrigin),
          ...constants(place, retryHeaders(response)),
        },
        responseTemplates: { "application/json": envelopeOf(response) },
      },
    ]),
  );
