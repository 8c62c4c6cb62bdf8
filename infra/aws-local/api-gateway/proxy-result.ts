import { type IncomingMessage, type ServerResponse, validateHeaderName, validateHeaderValue } from "node:http";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import * as z from "zod";

type Header = readonly [name: string, value: string | string[]];

/** The head of a REST proxy result. */
export interface ResultHead {
  readonly statusCode: number;
  /** Of two headers with the same name the later one counts, so multiValueHeaders take precedence over headers. */
  readonly headers: readonly Header[];
}

export interface ProxyResult extends ResultHead {
  readonly body: Buffer | string;
}

export interface StreamedResult extends ResultHead {
  readonly stream: Readable;
}

const scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String);

/** The head of a result, or the prelude of a stream, which may have cookies as well. */
const headSchema = z.strictObject({
  statusCode: z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]).pipe(z.int().min(200).max(599)),
  headers: z.record(z.string(), scalar).nullish(),
  multiValueHeaders: z.record(z.string(), z.array(scalar)).nullish(),
  cookies: z.array(scalar).default([]),
});

const resultSchema = z.strictObject({
  ...headSchema.shape,
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().default(false),
});

/**
 * Reads a function's result, as strictly as API Gateway ("Output format of a Lambda function for proxy integration");
 * undefined means a "malformed Lambda proxy response".
 * @param acceptsBinary whether a Base64 body is decoded: only for a client that accepts a binary media type of the API
 */
export function resultOf(output: unknown, acceptsBinary: boolean): ProxyResult | undefined {
  const { data } = resultSchema.safeParse(output);
  const head = data && sendable(data);
  return (
    head && {
      ...head,
      body: data.isBase64Encoded && acceptsBinary ? Buffer.from(data.body ?? "", "base64") : (data.body ?? ""),
    }
  );
}

/** Reads the prelude of a stream as strictly. */
export function headOf(prelude: unknown): ResultHead | undefined {
  const { data } = headSchema.safeParse(prelude);
  return data && sendable(data);
}

/** API Gateway sets these headers itself and renames those of a function ("Important notes"). */
const remapped = /^(connection|content-length|date|host|server|trailer|transfer-encoding|upgrade|www-authenticate)$/i;

/** Undefined when HTTP does not allow a header; line breaks, for example, are not allowed. */
function sendable({ statusCode, headers, multiValueHeaders, cookies }: z.infer<typeof headSchema>) {
  const all = [
    ...Object.entries(headers ?? {}),
    ...Object.entries(multiValueHeaders ?? {}),
    ...(cookies.length > 0 ? [["Set-Cookie", cookies] as const] : []),
  ].map(([name, value]): Header => [remapped.test(name) ? `x-amzn-Remapped-${name}` : name, value]);
  try {
    for (const [name, value] of all) {
      validateHeaderName(name);
      for (const each of [value].flat()) validateHeaderValue(name, each);
    }
    return { statusCode, headers: all };
  } catch {
    return undefined;
  }
}

const compress = promisify(gzip);
const gzipAccepted = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

/** Sends a buffered result, compressed from this size on where the client accepts it. */
export async function sendResult(
  request: IncomingMessage,
  response: ServerResponse,
  { statusCode, headers, body }: ProxyResult,
  compressedBytesMin: number,
): Promise<void> {
  startResponse(response, { statusCode, headers });
  const isCompressed =
    Buffer.byteLength(body) >= compressedBytesMin &&
    gzipAccepted.test(`${request.headers["accept-encoding"]}`) &&
    !response.hasHeader("Content-Encoding");
  if (isCompressed) response.setHeader("Content-Encoding", "gzip");
  const content = isCompressed ? await compress(body) : body;
  // A HEAD response has no Content-Length: the length of a GET's body is not known.
  const hasBody = statusCode !== 204 && statusCode !== 304 && request.method !== "HEAD";
  if (hasBody) response.setHeader("Content-Length", Buffer.byteLength(content));
  response.end(content);
}

/** Sends each chunk as soon as it arrives. When the function fails after the head, the connection is broken. */
export function sendStream(response: ServerResponse, { stream, ...head }: StreamedResult): void {
  stream.once("error", () => response.destroy());
  // The client has disconnected.
  if (response.destroyed) return void stream.destroy();
  response.once("close", () => stream.destroy());
  startResponse(response, head);
  stream.pipe(response);
  // The client gets the head at once, or with the first chunk if that is there.
  setImmediate(() => response.headersSent || response.flushHeaders());
}

function startResponse(response: ServerResponse, { statusCode, headers }: ResultHead): void {
  response.statusCode = statusCode;
  response.setHeader("Content-Type", "application/json");
  for (const [name, value] of headers) response.setHeader(name, value);
}
