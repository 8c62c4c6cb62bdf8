import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { listen } from "../http/listen.ts";
import { isForThisMachine } from "../http/loopback.ts";
import { read } from "../http/request-body.ts";
import { RequestTooLarge, TooManyRequests } from "../lambda/refusals.ts";
import { readDocument } from "./document.ts";
import { GatewayError, type GatewayResponseType, gatewayResponse } from "./gateway-responses.ts";
import { type IntegrationOptions, integrate } from "./integration.ts";
import { proxyEvent } from "./proxy-event.ts";
import { type ProxyResult, type StreamedResult, sendResult, sendStream } from "./proxy-result.ts";
import { router } from "./routes.ts";

export interface ApiGatewayOptions {
  readonly port?: number;
  /** The OpenAPI document that AWS would import. */
  readonly document: unknown;
  /** Functions are found by the names in the integrations' URIs. */
  readonly lambda: IntegrationOptions["lambda"];
  /** Other pages of this server, called one after another before all routes. */
  readonly pages?: readonly PageHandler[];
  /** The API keys of the usage plan, by which methods that need a key are called. */
  readonly apiKeys?: readonly string[];
  /** Of integrations that do not say how long they may take; default: 29 s. */
  readonly timeoutInMilliseconds?: number;
}

/** Returns whether it has responded. */
export type PageHandler = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

/* API Gateway, "Quotas for configuring and running a REST API" */
const bodyBytesMax = 10 * 1_048_576;
const defaultTimeoutInMilliseconds = 29_000;
/** Of the request line and all headers together. */
const headerBytesMax = 10_240;

export type ApiGateway = Awaited<ReturnType<typeof startApiGateway>>;

/**
 * Starts a server that runs a REST API's document as API Gateway does.
 * @throws {Error} when it cannot run all of it
 */
export async function startApiGateway(options: ApiGatewayOptions) {
  const { port = 0, lambda, pages = [], apiKeys = [], timeoutInMilliseconds = defaultTimeoutInMilliseconds } = options;
  const document = readDocument(options.document);
  const binaryTypes = document["x-amazon-apigateway-binary-media-types"];
  const compressedBytesMin = document["x-amazon-apigateway-minimum-compression-size"];
  const definitions = document["x-amazon-apigateway-gateway-responses"];
  const find = router(
    Object.entries(document.paths).map(([path, operations]) => {
      const integrations = Object.entries(operations).map(
        ([name, { security, "x-amazon-apigateway-integration": integration }]) => {
          const method = name.toUpperCase();
          if (integration.type === "aws_proxy" && !lambda.names.has(integration.uri))
            throw new Error(`${method} ${path}: there is no function ${integration.uri}`);
          return [method, { integration, needsKey: security.length > 0 }] as const;
        },
      );
      return [path, new Map(integrations)] as const;
    }),
  );

  const resultOf = async (request: IncomingMessage, requestId: string): Promise<ProxyResult | StreamedResult> => {
    // The path is compared as it was sent; a URL object would resolve `..` and `//`.
    const [path = "", search = ""] = (request.url ?? "").split(/\?(.*)/s);
    const match = find(path);
    const method = match?.resource.get(request.method ?? "");
    if (!match || !method) throw new GatewayError("MISSING_AUTHENTICATION_TOKEN");
    const { integration, needsKey } = method;
    if (needsKey && !apiKeys.includes(`${request.headers["x-api-key"]}`)) throw new GatewayError("INVALID_API_KEY");
    // API Gateway would unpack a compressed body, which no client of these services sends.
    if (request.headers["content-encoding"] !== undefined) throw new GatewayError("UNSUPPORTED_MEDIA_TYPE");
    const body = await read(request, bodyBytesMax);
    if (!body) throw new GatewayError("REQUEST_TOO_LARGE");
    const { path: resource, pathParameters } = match;
    const event = proxyEvent({ request, requestId, path, search, body, binaryTypes, resource, pathParameters });
    return await integrate(integration, event, { lambda, binaryTypes, timeoutInMilliseconds });
  };

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const requestId = randomUUID();
    try {
      if (!isForThisMachine(request)) throw new GatewayError("ACCESS_DENIED");
      for (const each of pages) if (await each(request, response)) return;
      response.setHeader("x-amzn-RequestId", requestId);
      const result = await resultOf(request, requestId);
      if ("stream" in result) sendStream(response, result);
      else await sendResult(request, response, result, compressedBytesMin);
    } catch (error) {
      // The status has been sent: the broken connection tells the client that the response is incomplete.
      if (response.headersSent || request.errored) return void response.destroy();
      const result = gatewayResponse(definitions, responseTypeOf(error), request.headers);
      await sendResult(request, response, result, compressedBytesMin);
    }
  };

  const handle = (request: IncomingMessage, response: ServerResponse) =>
    respond(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  const create = () =>
    createServer({ maxHeaderSize: headerBytesMax }, handle)
      // Node's own 417 has no body. A server may as well ignore what it does not know (RFC 9110, 10.1.1).
      .on("checkExpectation", handle)
      .on("clientError", (error, socket) =>
        rejectMalformed(error, socket, gatewayResponse(definitions, "DEFAULT_4XX", {})),
      );
  return await listen(create, port);
}

function responseTypeOf(error: unknown): GatewayResponseType {
  if (error instanceof GatewayError) return error.type;
  if (error instanceof RequestTooLarge) return "REQUEST_TOO_LARGE";
  // API Gateway turns Lambda's 429 into the response type INTEGRATION_FAILURE.
  if (error instanceof TooManyRequests) return "INTEGRATION_FAILURE";
  console.error(error);
  return "DEFAULT_5XX";
}

/** Responds to bytes that are not HTTP, and headers that are longer than API Gateway accepts. */
function rejectMalformed(error: NodeJS.ErrnoException, socket: Duplex, { statusCode, headers, body }: ProxyResult) {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const lines = [
    `HTTP/1.1 ${statusCode} Refused`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "Connection: close",
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
}
