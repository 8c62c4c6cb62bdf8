import { type Declaration, isNavigation, isPublic, methodsOf } from "../../lib/contract/declare.ts";
import { exposedHeaders } from "../../lib/contract/headers.ts";

type Headers = Readonly<Record<string, string>>;

/** The headers by which browsers let pages of other origins read a response (lib/contract/README.md, "CORS"). */
interface CorsHeaders {
  /** Those of every response. */
  readonly always: Headers;
  /** Those that are added for a page of one of these origins, in which `$origin` is its origin. */
  readonly ofAllowedOrigins?: Headers;
  readonly allowedOrigins?: readonly string[];
}

/** All paths allow the listed origins, with cookies; public paths allow all others, without cookies. */
const corsHeaders = (arePublic: boolean, allowedOrigins: readonly string[], headers: Headers): CorsHeaders =>
  arePublic
    ? {
        always: { "Access-Control-Allow-Origin": "*", Vary: "Origin", ...headers },
        ofAllowedOrigins: { "Access-Control-Allow-Origin": "$origin", "Access-Control-Allow-Credentials": "true" },
        allowedOrigins,
      }
    : {
        always: { Vary: "Origin" },
        ofAllowedOrigins: {
          "Access-Control-Allow-Origin": "$origin",
          "Access-Control-Allow-Credentials": "true",
          ...headers,
        },
        allowedOrigins,
      };

const preflightSecondsMax = 600;
/** The headers of requests to administrative endpoints that browsers ask for in preflights. */
export const requestHeaders = "Content-Type, If-Match, Idempotency-Key, Prefer";

/** The operation for the preflights of a path with these endpoints. */
export function preflightMock(declarations: readonly Declaration[], allowedOrigins: readonly string[]) {
  const arePublic = declarations.every(isPublic);
  const headers = corsHeaders(arePublic, allowedOrigins, {
    "Access-Control-Allow-Methods": declarations.flatMap(methodsOf).join(","),
    "Access-Control-Allow-Headers": arePublic ? "Content-Type, Prefer" : requestHeaders,
    "Access-Control-Max-Age": String(preflightSecondsMax),
  });
  return mock(204, "", headers, ["application/json"]);
}

/** No page of another origin may read the response, and no cache keeps it. */
const forNavigations = { always: { "Cache-Control": "no-store", "Referrer-Policy": "no-referrer" } };

/** An operation with the same error for every request. */
export function errorMock(declaration: Declaration, status: number, body: string, allowedOrigins: readonly string[]) {
  if (isNavigation(declaration)) return mock(status, body, forNavigations, contentTypes);
  const headers = corsHeaders(isPublic(declaration), allowedOrigins, {
    "Access-Control-Expose-Headers": exposedHeaders,
  });
  return mock(status, body, headers, contentTypes);
}

/**
 * The content types of requests. API Gateway selects the request template by content type, and a mock gets its status
 * from the template; for other types the response is 415. A request without a body counts as JSON.
 */
const contentTypes = [
  "application/json",
  "application/x-www-form-urlencoded",
  "application/octet-stream",
  "multipart/form-data",
  "text/plain",
  "image/avif",
  "image/gif",
  "image/jpeg",
  "image/png",
  "image/webp",
];

function mock(status: number, body: string, headers: CorsHeaders, requestTypes: readonly string[]) {
  const names = Object.keys({ ...headers.always, ...headers.ofAllowedOrigins });
  return {
    responses: {
      [status]: {
        description: "Answered by the gateway",
        headers: Object.fromEntries(names.map((name) => [name, { schema: { type: "string" } }])),
      },
    },
    "x-amazon-apigateway-integration": {
      type: "mock",
      passthroughBehavior: "never",
      requestTemplates: Object.fromEntries(requestTypes.map((type) => [type, JSON.stringify({ statusCode: status })])),
      responses: {
        default: {
          statusCode: String(status),
          responseParameters: constants("method.response.header", headers.always),
          responseTemplates: { "application/json": headersForOrigin(headers) + body },
        },
      },
    },
  };
}

/** Headers of a response as API Gateway's parameter mappings write them. */
export const constants = (parameter: string, headers: Headers): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [`${parameter}.${name}`, `'${value}'`]));

/**
 * A Velocity template that adds the headers for the page's origin. Access-Control-Allow-Origin can contain only one
 * origin, so the template compares it with each that is allowed. It looks for `Origin` and for `origin`, because API
 * Gateway does not change the case of header names, and HTTP/2 clients send lower case.
 */
function headersForOrigin({ ofAllowedOrigins = {}, allowedOrigins = [] }: CorsHeaders): string {
  if (allowedOrigins.length === 0) return "";
  return [
    '#set($origin = $input.params().header.get("Origin"))',
    '#if("$!origin" == "")',
    '#set($origin = $input.params().header.get("origin"))',
    "#end",
    `#if(${allowedOrigins.map(conditionOf).join(" || ")})`,
    ...Object.entries(ofAllowedOrigins).map(
      ([name, value]) => `#set($context.responseOverride.header.${name} = "${value}")`,
    ),
    "#end",
    "",
  ].join("\n");
}

/** Only on this machine an origin ends in `:*` and means every port (lib/http/origins.ts). */
const conditionOf = (origin: string): string =>
  origin.endsWith(":*")
    ? `$origin.matches("${origin.slice(0, -2).replace(/[[\].]/g, "\\$&")}(:[0-9]+)?")`
    : `$origin == "${origin}"`;
