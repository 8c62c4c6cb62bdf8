/** The headers of an answer to a page of this origin; for `undefined`, those of every answer. */
export type HeadersFor = (origin: string | undefined) => Readonly<Record<string, string>>;

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headersFor: HeadersFor;
  /** The origins whose answers have other headers. */
  readonly origins: readonly string[];
}

/**
 * The content types of requests. API Gateway selects the request template by content type, and a mock gets its status
 * from the template; for other types the answer is 415.
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
export const constants = (parameter: string, headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [`${parameter}.${name}`, `'${value}'`]));

/**
 * A Velocity template that adds the headers for the page's origin. Access-Control-Allow-Origin can contain only one
 * origin, so the template compares it with each that is allowed. It looks for `Origin` and for `origin`, because API
 * Gateway does not change the case of header names, and HTTP/2 clients send lower case.
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
