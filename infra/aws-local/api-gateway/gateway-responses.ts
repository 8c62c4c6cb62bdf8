import type { IncomingHttpHeaders } from "node:http";
import type { GatewayResponseDefinitions } from "./document.ts";
import { parameterMappings } from "./mapping.ts";
import type { ProxyResult } from "./proxy-result.ts";

/** What API Gateway answers by itself where the document says nothing else ("Gateway response types"). */
const defaults = {
  ACCESS_DENIED: [403, "Forbidden"],
  BAD_REQUEST_BODY: [400, "Invalid request body"],
  BAD_REQUEST_PARAMETERS: [400, "Bad Request Exception"],
  DEFAULT_4XX: [400, "Bad Request"],
  DEFAULT_5XX: [502, "Internal server error"],
  INTEGRATION_FAILURE: [504, "Internal server error"],
  INTEGRATION_TIMEOUT: [504, "Endpoint request timed out"],
  MISSING_AUTHENTICATION_TOKEN: [403, "Missing Authentication Token"],
  REQUEST_TOO_LARGE: [413, "Request Too Long"],
  UNSUPPORTED_MEDIA_TYPE: [415, "Unsupported Media Type"],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type GatewayResponseType = keyof typeof defaults;

/** The gateway itself answers the request, with one of its response types. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly type: GatewayResponseType;

  constructor(type: GatewayResponseType) {
    super(type);
    this.type = type;
  }
}

export type GatewayResponses = (
  type: GatewayResponseType,
  requestId: string,
  headers: IncomingHttpHeaders,
) => ProxyResult;

/**
 * The gateway responses of a document. A type that is not defined has the definition of DEFAULT_4XX or DEFAULT_5XX. Its
 * template knows variables of `$context` and nothing else of the template language.
 */
export function gatewayResponses(definitions: GatewayResponseDefinitions = {}): GatewayResponses {
  const prepared = new Map(
    Object.entries<readonly [number, string]>(defaults).map(([type, [status, message]]) => {
      const name = type in definitions ? type : status < 500 ? "DEFAULT_4XX" : "DEFAULT_5XX";
      const { statusCode = status, responseParameters = {}, responseTemplates } = definitions[name] ?? {};
      const template = responseTemplates?.["application/json"] ?? '{"message":$context.error.messageString}';
      return [
        type,
        {
          statusCode: Number(statusCode),
          headersOf: parameterMappings(`gateway response ${name}`, "gatewayresponse.header.", responseParameters),
          bodyOf: (requestId: string) => {
            const variables: Readonly<Record<string, string>> = {
              requestId,
              "error.message": message,
              "error.messageString": JSON.stringify(message),
              "error.responseType": type,
            };
            return template.replace(/\$context\.([A-Za-z]+(?:\.[A-Za-z]+)*)/g, (_, name) => variables[name] ?? "");
          },
        },
      ];
    }),
  );
  return (type, requestId, headers) => {
    const { statusCode, headersOf, bodyOf } = prepared.get(type) ?? raise(type);
    return { statusCode, headers: headersOf(headers), body: Buffer.from(bodyOf(requestId)) };
  };
}

function raise(type: string): never {
  throw new Error(`There is no gateway response ${type}`);
}
