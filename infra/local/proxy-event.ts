import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Declaration } from "../../lib/contract/declare.ts";

/** The event of a REST API's Lambda proxy integration (API Gateway, "Input format of a Lambda function"). */
export function proxyEvent(
  request: IncomingMessage,
  url: URL,
  body: Buffer,
  declaration: Declaration,
  pathParameters: Record<string, string> | null,
): APIGatewayProxyEvent {
  const headers = pairs(request.rawHeaders);
  const query = [...url.searchParams];
  const method = request.method ?? "GET";
  return {
    resource: declaration.path,
    path: url.pathname,
    httpMethod: method,
    headers: lastOf(headers),
    multiValueHeaders: allOf(headers),
    queryStringParameters: query.length > 0 ? lastOf(query) : null,
    multiValueQueryStringParameters: query.length > 0 ? allOf(query) : null,
    pathParameters,
    stageVariables: null,
    requestContext: {
      accountId: "123456789012",
      apiId: "local",
      authorizer: null,
      domainName: request.headers.host ?? "localhost",
      httpMethod: method,
      identity: identity(request),
      path: url.pathname,
      protocol: "HTTP/1.1",
      requestId: randomUUID(),
      requestTime: new Date().toUTCString(),
      requestTimeEpoch: Date.now(),
      resourceId: "local",
      resourcePath: declaration.path,
      stage: "local",
    },
    // No media type is registered as binary, so bodies are text; bytes that are none become replacement characters.
    body: body.length > 0 ? body.toString("utf8") : null,
    isBase64Encoded: false,
  };
}

const identity = (request: IncomingMessage) => ({
  accessKey: null,
  accountId: null,
  apiKey: null,
  apiKeyId: null,
  caller: null,
  clientCert: null,
  cognitoAuthenticationProvider: null,
  cognitoAuthenticationType: null,
  cognitoIdentityId: null,
  cognitoIdentityPoolId: null,
  principalOrgId: null,
  sourceIp: request.socket.remoteAddress ?? "127.0.0.1",
  user: null,
  userAgent: request.headers["user-agent"] ?? null,
  userArn: null,
});

function pairs(rawHeaders: readonly string[]): [string, string][] {
  const names = rawHeaders.filter((_, place) => place % 2 === 0);
  return names.map((name, place) => [name, rawHeaders[2 * place + 1] ?? ""]);
}

const lastOf = (entries: readonly [string, string][]) => Object.fromEntries(entries);

const allOf = (entries: readonly [string, string][]) =>
  Object.fromEntries(
    [...Map.groupBy(entries, ([name]) => name)].map(([name, all]) => [name, all.map(([, value]) => value)]),
  );
