import { ResponseType, type RestApi } from "aws-cdk-lib/aws-apigateway";
import { exposedHeaders } from "../../lib/contract/headers.ts";
import { envelopeOf, type GatewayResponseType, gatewayResponses } from "../gateway-responses.ts";

/** There is no route, so there is no endpoint whose pages could be told apart. */
const unknownRoutes: ReadonlySet<string> = new Set<GatewayResponseType>([
  "MISSING_AUTHENTICATION_TOKEN",
  "RESOURCE_NOT_FOUND",
]);

/**
 * Answers of the gateway itself are one for all routes, and their templates know no conditions (API Gateway: "not
 * processed by the VTL engine"), so public and administrative paths cannot be told apart here. The page's origin is
 * echoed, with credentials, so that both the website and the admin panel can read them. That gives nothing away: what
 * they say are the constants of gateway-responses.ts, never an answer of a function, which carries headers of its own.
 * Browsers speak HTTP/2 to API Gateway, where names of headers are in lower case.
 */
const anyOrigin = {
  "Access-Control-Allow-Origin": "method.request.header.origin",
  "Access-Control-Allow-Credentials": "'true'",
  "Access-Control-Expose-Headers": `'${exposedHeaders}'`,
  Vary: "'Origin'",
};
const everyOrigin = { "Access-Control-Allow-Origin": "'*'", "Access-Control-Expose-Headers": `'${exposedHeaders}'` };

/** Gives all that API Gateway refuses by itself the envelope of the interface. */
export function addRefusals(api: RestApi): void {
  for (const [type, response] of Object.entries(gatewayResponses)) {
    api.addGatewayResponse(type, {
      type: ResponseType.of(type),
      statusCode: String(response.status),
      responseHeaders: unknownRoutes.has(type) ? everyOrigin : anyOrigin,
      templates: { "application/json": envelopeOf(response) },
    });
  }
}
