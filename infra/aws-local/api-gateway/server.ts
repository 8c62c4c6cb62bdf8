import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Declaration, functionName, methodsOf } from "../../../lib/contract/declare.ts";
import { endpoints as interfaceEndpoints } from "../../../lib/contract/endpoints.ts";
import {
  corsHeaders,
  envelopeOf,
  type GatewayResponse,
  type GatewayResponseType,
  gatewayResponses,
  noFileServiceResponse,
  preflightHeaders,
  retryHeaders,
} from "../../api/gateway-responses.ts";
import { listen } from "../http/listen.ts";
import { isForThisMachine } from "../http/loopback.ts";
import { receiveBody } from "../http/request-body.ts";
import type { Key } from "../http/signature.ts";
import { invokeApi } from "../lambda/invoke-api.ts";
import type { Lambda } from "../lambda/lambda.ts";
import { RequestTooLarge, TooManyRequests } from "../lambda/refusals.ts";
import { BuildError, buffered, GatewayError, streamed } from "./integration.ts";
import { MalformedRequest, proxyEvent } from "./proxy-event.ts";
import { sendResult, sendStream } from "./proxy-result.ts";
import { type Match, router } from "./routes.ts";

export interface GatewayOptions {
  readonly port?: number;
  readonly endpoints?: readonly Declaration[];
  readonly lambda: Lambda;
  readonly allowedOrigins: readonly string[];
  /** Called when a page of another origin sends a request, or a preflight, to an endpoint with a permission. */
  readonly onForeignOrigin?: (origin: string) => void;
  /** Without uploads the gateway answers 503 on the routes of the file service. */
  readonly uploads: boolean;
  /** The key that requests to the Invoke API must be signed with. Without a key there is no Invoke API. */
  readonly key?: Key;
  /** Other pages of the local server. The gateway calls this first; true means that it has answered. */
  readonly pages?: (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;
  readonly limits?: Partial<GatewayLimits>;
}

export interface GatewayLimits {
  readonly bodyBytes: number;
  /** For a buffered answer, or for the head of a streamed one. */
  readonly timeoutInMilliseconds: number;
  readonly compressedBytesMin: number;
  /** Of the request line and all headers together. */
  readonly headerBytes: number;
}

/** API Gateway, "Quotas for configuring and running a REST API". */
const quotas: GatewayLimits = {
  bodyBytes: 10 * 1_048_576,
  timeoutInMilliseconds: 29_000,
  compressedBytesMin: 1_024,
  headerBytes: 10_240,
};

export interface Gateway {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts a server that answers as the REST API does, from the same declarations. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { endpoints = interfaceEndpoints, lambda, allowedOrigins } = options;
  const limits = { ...quotas, ...options.limits };
  const find = router(endpoints);
  const invoke = options.key ? invokeApi(lambda, options.key) : async () => false;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!isForThisMachine(request)) return sendError(request, response, undefined, gatewayResponses.ACCESS_DENIED);
    if (await options.pages?.(request, response)) return;
    // The path is compared as it was sent; a URL object would resolve `..` and `//`.
    const [path = "", search = ""] = (request.url ?? "").split(/\?(.*)/s);
    if (await invoke(path, request, response)) return;
    const match = find(path);
    reportForeign(match, request);
    if (match && request.method === "OPTIONS") return preflight(request, response, match);
    try {
      await serve(request, response, match, path, search);
    } catch (error) {
      // The status has been sent: the broken connection tells the client that the list is incomplete.
      if (response.headersSent || request.errored) return void response.destroy();
      sendError(request, response, match, gatewayResponseOf(error));
    }
  };

  const reportForeign = (match: Match | undefined, { headers: { origin } }: IncomingMessage) => {
    const isAdministrative = match?.declarations.some(({ permission }) => permission);
    if (isAdministrative && origin !== undefined && !allowedOrigins.includes(origin)) options.onForeignOrigin?.(origin);
  };

  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    match: Match | undefined,
    path: string,
    search: string,
  ): Promise<void> => {
    const declaration = match?.declarations.find((each) => methodsOf(each).includes(request.method ?? ""));
    if (!match || !declaration) throw new GatewayError("MISSING_AUTHENTICATION_TOKEN");
    const received = await receiveBody(request, limits.bodyBytes);
    if ("error" in received) throw new GatewayError(received.error);
    if (declaration.files && !options.uploads) return sendError(request, response, match, noFileServiceResponse);
    const { resource, pathParameters } = match;
    const event = proxyEvent({ request, path, search, ...received, resource, pathParameters });
    response.setHeader("x-amzn-RequestId", event.requestContext.requestId);
    const name = functionName(declaration);
    if ("list" in declaration.answers) {
      const { head, body: content } = await streamed(lambda, name, event, limits.timeoutInMilliseconds);
      await sendStream(response, head, content);
    } else {
      const result = await buffered(lambda, name, event, limits.timeoutInMilliseconds);
      await sendResult(request, response, result, limits.compressedBytesMin);
    }
  };

  const preflight = ({ headers }: IncomingMessage, response: ServerResponse, { declarations }: Match) => {
    response.writeHead(204, preflightHeaders(declarations, allowedOrigins, headers.origin)).end();
  };

  const sendError = (
    { headers }: IncomingMessage,
    response: ServerResponse,
    match: Match | undefined,
    answer: GatewayResponse,
  ) => {
    const body = envelopeOf(answer);
    response.writeHead(answer.status, {
      ...corsHeaders(match?.declarations[0] ?? {}, allowedOrigins, headers.origin),
      ...retryHeaders(answer),
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(body),
    });
    response.end(body);
  };

  return await listen({
    port: options.port ?? 0,
    headerBytesMax: limits.headerBytes,
    answer: (request, response) => {
      answer(request, response).catch((error: unknown) => {
        console.error(error);
        response.destroy();
      });
    },
    clientError: answerMalformed,
  });
}

function gatewayResponseOf(error: unknown): GatewayResponse {
  return error instanceof BuildError
    ? { status: 500, message: error.message }
    : gatewayResponses[responseTypeOf(error)];
}

function responseTypeOf(error: unknown): GatewayResponseType {
  if (error instanceof GatewayError) return error.type;
  if (error instanceof RequestTooLarge) return "REQUEST_TOO_LARGE";
  // API Gateway answers Lambda's 429 with the response type INTEGRATION_FAILURE.
  if (error instanceof TooManyRequests) return "INTEGRATION_FAILURE";
  if (error instanceof MalformedRequest) return "BAD_REQUEST_PARAMETERS";
  console.error(error);
  return "DEFAULT_5XX";
}

/** Answers bytes that are not HTTP, and headers that are longer than API Gateway accepts. */
function answerMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const isTooLong = error.code === "HPE_HEADER_OVERFLOW";
  const answer = isTooLong ? { status: 431, message: "Request header fields too large" } : gatewayResponses.DEFAULT_4XX;
  const body = envelopeOf(answer);
  socket.end(
    `HTTP/1.1 ${answer.status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
      `Access-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n${body}`,
  );
}
