/** The headers of an answer to a page of this origin; without one, what every answer has. */
export type HeadersFor = (origin: string | undefined) => Readonly<Record<string, string>>;

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headersFor: HeadersFor;
  /** The origins that get headers of their own. */
  readonly origins: readonly string[];
}

/**
 * What clients may call a body. API Gateway chooses the template by it, and only a template tells a mock its status;
 * for other types the answer is 415.
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

/** An operation that API Gateway answers by itself, without a Lambda. */
export function mock({ status, body, headersFor, origins }: Answer) {
  const always = headersFor(undefined);
  const names = new Set([undefined, ...origins].flatMap((origin) => Object.keys(headersFor(origin))));
  // A request without a body counts as JSON.
  const types = body === "" ? contentTypes.slice(0, 1) : contentTypes;
  return {
    responses: {
      [status]: {
        description: "Answered by the gateway",
        headers: Object.fromEntries([...names].map((name) => [name, { schema: { type: "string" } }])),
      },
    },
    "x-amazon-apigateway-integration": {
      type: "mock",
      passthroughBehavior: "never",
      requestTemplates: Object.fromEntries(types.map((type) => [type, JSON.stringify({ statusCode: status })])),
      responses: {
        default: {
          statusCode: String(status),
          responseParameters: constants("method.response.header", always),
          responseTemplates: { "application/json": echoOrigin(headersFor, origins) + body },
        },
      },
    },
  };
}

/** Headers of an answer as API Gateway's parameter mappings write them. */
export const constants = (place: string, headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [`${place}.${name}`, `'${value}'`]));

/**
 * Apache Velocity that adds the headers meant for the page's origin. One origin can be named in
 * Access-Control-Allow-Origin, so it is compared with each that is listed. Clients of HTTP/2 write header names in
 * lower case, and API Gateway hands them over as they came.
 */
function echoOrigin(headersFor: HeadersFor, origins: readonly string[]): string {
  const always = headersFor(undefined);
  const branches = origins.flatMap((origin) => {
    const own = Object.entries(headersFor(origin)).filter(([name, value]) => always[name] !== value);
    if (own.length === 0) return [];
    const lines = own.map(([name, value]) => `#set($context.responseOverride.header.${name} = "${value}")`);
    return [`#if($origin == "${origin}")`, ...lines, "#end"];
  });
  if (branches.length === 0) return "";
  const read = [
    '#set($origin = $input.params().header.get("Origin"))',
    '#if("$!origin" == "")',
    '#set($origin = $input.params().header.get("origin"))',
    "#end",
  ];
  return [...read, ...branches, ""].join("\n");
}
