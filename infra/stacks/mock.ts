import { type MethodOptions, MockIntegration, PassthroughBehavior } from "aws-cdk-lib/aws-apigateway";

/** The headers of an answer to a page of this origin; without one, what every answer has. */
export type HeadersFor = (origin: string | undefined) => Readonly<Record<string, string>>;

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headersFor: HeadersFor;
  /** The origins that get headers of their own. */
  readonly origins: readonly string[];
}

export interface Mock {
  readonly integration: MockIntegration;
  readonly options: MethodOptions;
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

/** API Gateway answers by itself, without a Lambda. */
export function mock({ status, body, headersFor, origins }: Answer): Mock {
  const always = headersFor(undefined);
  const names = new Set([undefined, ...origins].flatMap((origin) => Object.keys(headersFor(origin))));
  return {
    integration: new MockIntegration({
      passthroughBehavior: PassthroughBehavior.NEVER,
      requestTemplates: Object.fromEntries(contentTypes.map((type) => [type, JSON.stringify({ statusCode: status })])),
      integrationResponses: [
        {
          statusCode: String(status),
          responseParameters: Object.fromEntries(
            Object.entries(always).map(([name, value]) => [`method.response.header.${name}`, `'${value}'`]),
          ),
          responseTemplates: { "application/json": echoOrigin(headersFor, origins) + body },
        },
      ],
    }),
    options: {
      methodResponses: [
        {
          statusCode: String(status),
          responseParameters: Object.fromEntries([...names].map((name) => [`method.response.header.${name}`, false])),
        },
      ],
    },
  };
}

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
