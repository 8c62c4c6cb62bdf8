import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { type Declaration, functionName } from "../../lib/contract/declare.ts";
import { endpoints as interfaceEndpoints } from "../../lib/contract/endpoints.ts";
import {
  corsHeaders,
  envelopeOf,
  type GatewayResponse,
  gatewayResponses,
  noFileServiceResponse,
  preflightHeaders,
} from "../gateway-responses.ts";
import { invokeApi } from "./invoke-api.ts";
import { type Lambda, preludeOf } from "./lambda.ts";
import { proxyEvent } from "./proxy-event.ts";
import { router } from "./routes.ts";

export interface GatewayOptions {
  readonly port?: number;
  readonly endpoints?: readonly Declaration[];
  readonly lambda: Lambda;
  readonly allowedOrigins: readonly string[];
  /** Without uploads the routes of the file service answer 503 by themselves. */
  readonly uploads: boolean;
  /** What else the local server serves, tried first; true when it has answered. */
  readonly pages?: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;
  readonly limits?: Partial<typeof quotas>;
}

/** API Gateway and Lambda quotas: 10 MB a request, 6 MB of it for a Lambda, 29 s. */
const quotas = {
  bodyBytes: 10 * 1024 * 1024,
  payloadBytes: 6 * 1024 * 1024,
  milliseconds: 29_000,
  compressedBytesMin: 1_024,
};

export interface Gateway {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts a server that answers as the REST API does, from the same declarations. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { endpoints = interfaceEndpoints, lambda, allowedOrigins, uploads, pages } = options;
  const limits = { ...quotas, ...options.limits };
  const find = router(endpoints);

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // Paths are compared as they came; a URL object would resolve `..` and `//`.
    const [path = "/", search = ""] = (request.url ?? "/").split(/\?(.*)/s);
    if (await pages?.(request, response)) return;
    if (await invokeApi(lambda, path, request, response)) return;
    const match = find(path);
    const origin = request.headers.origin;
    const refuse = (type: GatewayResponse) =>
      end(response, gatewayResponses[type].status, envelopeOf(gatewayResponses[type]), {
        ...corsHeaders(match?.declarations[0] ?? {}, allowedOrigins, origin),
        "Content-Type": "application/json",
      });
    const declaration = match?.declarations.find(({ method }) => method === request.method);
    if (match && request.method === "OPTIONS") {
      return end(response, 204, "", preflightHeaders(match.declarations, allowedOrigins, origin));
    }
    if (!match || !declaration) return refuse("MISSING_AUTHENTICATION_TOKEN");

    const body = await bodyOf(request, limits.bodyBytes);
    if (!body) return refuse("REQUEST_TOO_LARGE");
    if (declaration.files && !uploads) {
      return end(response, noFileServiceResponse.status, envelopeOf(noFileServiceResponse), {
        ...corsHeaders(declaration, allowedOrigins, origin),
        "Content-Type": "application/json",
      });
    }
    const url = new URL(`http://localhost/?${search}`);
    Object.defineProperty(url, "pathname", { value: path });
    const event = proxyEvent(request, url, body, declaration, match.pathParameters);
    if (Buffer.byteLength(JSON.stringify(event)) > limits.payloadBytes) return refuse("REQUEST_TOO_LARGE");

    const name = functionName(declaration);
    if ("list" in declaration.answers) return await streamed(lambda.stream(name, event), response, limits, refuse);
    const invocation = await within(limits.milliseconds, lambda.invoke(name, event));
    if (!invocation) return refuse("INTEGRATION_TIMEOUT");
    if ("error" in invocation) {
      console.error(JSON.stringify({ level: "error", function: name, ...invocation.error }));
      return refuse("DEFAULT_5XX");
    }
    if (!isProxyResult(invocation.result)) return refuse("DEFAULT_5XX");
    buffered(request, response, invocation.result, limits.compressedBytesMin);
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function end(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  headers: Record<string, string | string[]>,
): void {
  response.writeHead(
    status,
    status === 204 || status === 304 ? headers : { ...headers, "Content-Length": Buffer.byteLength(body) },
  );
  response.end(body);
}

async function bodyOf(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    // What is too large is read to its end, so that the client hears the answer.
    if (bytes <= bytesMax) chunks.push(chunk);
    else chunks.length = 0;
  }
  return bytes > bytesMax ? undefined : Buffer.concat(chunks);
}

interface ProxyResult {
  readonly statusCode: number;
  readonly headers?: Record<string, string>;
  readonly multiValueHeaders?: Record<string, string[]>;
  readonly body?: string;
  readonly isBase64Encoded?: boolean;
}

/** Any other shape is a "malformed Lambda proxy response". */
const isProxyResult = (result: unknown): result is ProxyResult =>
  typeof result === "object" && result !== null && "statusCode" in result && Number.isInteger(result.statusCode);

/** As with `minimumCompressionSize`: API Gateway compresses what it holds as a whole. */
function buffered(
  request: IncomingMessage,
  response: ServerResponse,
  result: ProxyResult,
  compressedBytesMin: number,
): void {
  const body = Buffer.from(result.body ?? "", result.isBase64Encoded ? "base64" : "utf8");
  const headers = { ...result.headers, ...result.multiValueHeaders };
  const isCompressed =
    body.length >= compressedBytesMin &&
    /\bgzip\b/.test(request.headers["accept-encoding"]?.toString() ?? "") &&
    !("Content-Encoding" in headers);
  if (isCompressed) end(response, result.statusCode, gzipSync(body), { ...headers, "Content-Encoding": "gzip" });
  else end(response, result.statusCode, body, headers);
}

/** Passes a streamed answer on as it comes; a function that fails on the way breaks the connection. */
async function streamed(
  stream: Readable,
  response: ServerResponse,
  { milliseconds }: { milliseconds: number },
  refuse: (type: GatewayResponse) => void,
): Promise<void> {
  const timer = setTimeout(() => stream.destroy(new Error("No answer in time")), milliseconds);
  response.once("close", () => stream.destroy());
  let prelude = Buffer.alloc(0);
  try {
    for await (const chunk of stream) {
      if (response.headersSent) {
        await write(response, chunk);
        continue;
      }
      prelude = Buffer.concat([prelude, chunk]);
      const found = preludeOf(prelude);
      if (!found) continue;
      clearTimeout(timer);
      response.writeHead(found.head.statusCode, found.head.headers);
      await write(response, prelude.subarray(found.bodyStart));
    }
    if (response.headersSent) response.end();
    else refuse("DEFAULT_5XX");
  } catch (error) {
    console.error(JSON.stringify({ level: "error", message: String(error) }));
    if (response.headersSent) response.destroy();
    else refuse(String(error).includes("in time") ? "INTEGRATION_TIMEOUT" : "DEFAULT_5XX");
  } finally {
    clearTimeout(timer);
  }
}

async function write(response: ServerResponse, chunk: Buffer): Promise<void> {
  if (chunk.length === 0 || response.write(chunk) || response.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.once("drain", done).once("close", done);
  });
}

async function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
