import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { GatewayError } from "./gateway-responses.ts";

export interface Call {
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly path: string;
  /** What follows the question mark. */
  readonly search: string;
  readonly body: Buffer;
  /** Bodies of these media types are sent as Base64. */
  readonly binaryTypes: readonly string[];
  /** The path of the matching resource, `/admin-roles/edit/{id}`. */
  readonly resource: string;
  readonly pathParameters: Readonly<Record<string, string>> | null;
}

/**
 * The event of a REST API's Lambda proxy integration (API Gateway, "Input format of a Lambda function for proxy
 * integration").
 * @throws {GatewayError} when path or query are not properly encoded
 */
export function proxyEvent(call: Call): APIGatewayProxyEvent {
  const { request, path, search, body, binaryTypes, resource, pathParameters } = call;
  const headers = headersOf(request);
  const single = singleValues(headers);
  const query = queryOf(search);
  const httpMethod = request.method ?? "GET";
  const isBase64Encoded = body.length > 0 && isBinary(single, "content-type", binaryTypes);
  return {
    resource,
    path,
    httpMethod,
    headers: single,
    multiValueHeaders: multipleValues(headers),
    queryStringParameters: query.length > 0 ? singleValues(query) : null,
    multiValueQueryStringParameters: query.length > 0 ? multipleValues(query) : null,
    pathParameters: pathParameters && decodedParameters(pathParameters),
    stageVariables: null,
    requestContext: { ...requestContext(call), httpMethod, resourcePath: resource },
    // In text, invalid UTF-8 becomes replacement characters.
    body: body.length > 0 ? body.toString(isBase64Encoded ? "base64" : "utf8") : null,
    isBase64Encoded,
  };
}

/** The first media type of a header, whose name can have any case, without its parameters. */
export function mediaTypeOf(headers: APIGatewayProxyEvent["headers"], name: string): string | undefined {
  const value = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  return /[^\s,;]+/.exec(value ?? "")?.[0].toLowerCase();
}

/** Whether a header names one of the API's binary types, whose content it sends and takes as bytes. */
export const isBinary = (
  headers: APIGatewayProxyEvent["headers"],
  name: "accept" | "content-type",
  binaryTypes: readonly string[],
): boolean =>
  binaryTypes.includes("*/*") || (binaryTypes.length > 0 && binaryTypes.includes(mediaTypeOf(headers, name) ?? ""));

function requestContext({ request, requestId, path }: Call) {
  const now = new Date();
  return {
    accountId: "123456789012",
    apiId: "local",
    authorizer: null,
    domainName: request.headers.host ?? "localhost",
    extendedRequestId: randomUUID(),
    identity: {
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
      sourceIp: addressOf(request),
      user: null,
      userAgent: request.headers["user-agent"] ?? null,
      userArn: null,
    },
    path,
    protocol: `HTTP/${request.httpVersion}`,
    requestId,
    requestTime: commonLogTime(now),
    requestTimeEpoch: now.getTime(),
    resourceId: "local",
    stage: "local",
  };
}

/** An IPv4 address without the prefix that a socket for IPv4 and IPv6 puts before it. */
const addressOf = ({ socket }: IncomingMessage) => (socket.remoteAddress ?? "127.0.0.1").replace(/^::ffff:/, "");

/** 21/Nov/2026:05:31:37 +0000 */
function commonLogTime(time: Date): string {
  const [, day, month, year, clock] = time.toUTCString().split(" ");
  return `${day}/${month}/${year}:${clock} +0000`;
}

type Pair = readonly [name: string, value: string];

/** Headers of the connection to the gateway, which the function does not get, and those that the gateway sets. */
const ownHeaders =
  /^(connection|content-length|expect|keep-alive|te|trailer|transfer-encoding|upgrade|x-forwarded-.*)$/i;

function headersOf(request: IncomingMessage): Pair[] {
  const sent = request.rawHeaders.flatMap((name, index, all): Pair[] =>
    index % 2 === 0 && !ownHeaders.test(name) ? [[name, all[index + 1] ?? ""]] : [],
  );
  const forwarded = [request.headers["x-forwarded-for"], addressOf(request)].filter(Boolean).join(", ");
  return [
    ...sent,
    ["X-Forwarded-For", forwarded],
    ["X-Forwarded-Port", String(request.socket.localPort)],
    ["X-Forwarded-Proto", "http"],
  ];
}

/**
 * API Gateway, "Important notes for REST APIs": `|`, `{` and `}` must be encoded, and `;` splits a query as `&` does.
 */
function queryOf(search: string): Pair[] {
  if (/[|{}]/.test(search)) throw new GatewayError("BAD_REQUEST_PARAMETERS");
  return search
    .split(/[&;]/)
    .filter((part) => part !== "")
    .map((part) => {
      const [, name = "", value = ""] = /^([^=]*)=?(.*)$/s.exec(part) ?? [];
      return [decoded(name.replaceAll("+", " ")), decoded(value.replaceAll("+", " "))];
    });
}

/**
 * API Gateway, "Important notes for REST APIs": request parameters are decoded before they are passed on. Some users
 * report path parameters that were not decoded, so functions should not depend on it.
 */
const decodedParameters = (parameters: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, decoded(value)]));

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new GatewayError("BAD_REQUEST_PARAMETERS");
  }
}

const singleValues = (pairs: readonly Pair[]) => Object.fromEntries(pairs);

const multipleValues = (pairs: readonly Pair[]) =>
  Object.fromEntries(
    [...Map.groupBy(pairs, ([name]) => name)].map(([name, all]) => [name, all.map(([, value]) => value)]),
  );
