import type { IncomingHttpHeaders } from "node:http";
import type { GatewayResponses } from "./document.ts";
import type { ProxyResult } from "./proxy-result.ts";

/** What API Gateway returns by itself where the document defines nothing else ("Gateway response types"). */
const defaults = {
  ACCESS_DENIED: [403, "Forbidden"],
  BAD_REQUEST_PARAMETERS: [400, "Bad Request Exception"],
  DEFAULT_4XX: [400, "Bad Request"],
  DEFAULT_5XX: [502, "Internal server error"],
  INVALID_API_KEY: [403, "Forbidden"],
  INTEGRATION_FAILURE: [504, "Internal server error"],
  INTEGRATION_TIMEOUT: [504, "Endpoint request timed out"],
  MISSING_AUTHENTICATION_TOKEN: [403, "Missing Authentication Token"],
  REQUEST_TOO_LARGE: [413, "Request Too Long"],
  UNSUPPORTED_MEDIA_TYPE: [415, "Unsupported Media Type"],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type GatewayResponseType = keyof typeof defaults;

/** The gateway itself responds, with one of its response types. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly type: GatewayResponseType;

  constructor(type: GatewayResponseType) {
    super(type);
    this.type = type;
  }
}

/**
 * A gateway response. A type that the document does not define gets DEFAULT_4XX or DEFAULT_5XX. The template
 * has the error's variables of `$context`, and nothing else of the template language.
 */
export function gatewayResponse(
  definitions: GatewayResponses,
  type: GatewayResponseType,
  headers: IncomingHttpHeaders,
): ProxyResult {
  const [status, message] = defaults[type];
  const definition = definitions[type] ?? definitions[status < 500 ? "DEFAULT_4XX" : "DEFAULT_5XX"];
  const variables: Readonly<Record<string, string>> = {
    message,
    messageString: JSON.stringify(message),
    responseType: type,
  };
  const template = definition?.responseTemplates?.["application/json"] ?? '{"message":$context.error.messageString}';
  return {
    statusCode: Number(definition?.statusCode ?? status),
    headers: (definition?.responseParameters ?? []).flatMap(([name, value]) => {
      const [, constant, header = ""] = /^(?:'(.*)'|method\.request\.header\.(.+))$/.exec(value) ?? [];
      const mapped = constant ?? headers[header.toLowerCase()];
      return mapped === undefined ? [] : [[name, String(mapped)] as const];
    }),
    body: Buffer.from(template.replace(/\$context\.error\.(\w+)/g, (_, name) => variables[name] ?? "")),
  };
}
