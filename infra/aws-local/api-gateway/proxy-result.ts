import { type IncomingMessage, type ServerResponse, validateHeaderName, validateHeaderValue } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Prelude } from "../lambda/stream.ts";

type Header = readonly [name: string, value: string | string[]];
type Scalar = string | number | boolean;

/** The head of a REST proxy result. */
export interface ResultHead {
  readonly statusCode: number;
  /** Of two headers with the same name the later one counts, so multiValueHeaders take precedence over headers. */
  readonly headers: readonly Header[];
}

export interface ProxyResult extends ResultHead {
  readonly body: Buffer;
}

export interface StreamedResult extends ResultHead {
  readonly stream: Readable;
}

/**
 * Reads a function's result, as strictly as API Gateway ("Output format of a Lambda function for proxy integration");
 * undefined means a "malformed Lambda proxy response".
 * @param acceptsBinary whether a Base64 body is decoded: only for a client that accepts a binary media type of the API
 */
export function resultOf(given: unknown, acceptsBinary: boolean): ProxyResult | undefined {
  if (!isRecord(given)) return undefined;
  const { body = null, isBase64Encoded = false, ...rest } = given;
  const head = headOf(rest);
  if (!head || typeof isBase64Encoded !== "boolean" || (body !== null && typeof body !== "string")) return undefined;
  return { ...head, body: Buffer.from(body ?? "", isBase64Encoded && acceptsBinary ? "base64" : "utf8") };
}

/** The head of a result, or the prelude of a stream, which may have cookies as well. */
export function headOf(given: Prelude): ResultHead | undefined {
  const { statusCode, headers, multiValueHeaders, cookies, ...others } = given;
  const status = typeof statusCode === "string" && /^\d+$/.test(statusCode) ? Number(statusCode) : statusCode;
  if (typeof status !== "number" || !Number.isInteger(status) || status < 200 || status > 599) return undefined;
  if (Object.keys(others).length > 0) return undefined;
  const single = headers ?? {};
  const multiple = multiValueHeaders ?? {};
  if (!isRecordOf(single, isScalar) || !isRecordOf(multiple, isScalars)) return undefined;
  const all = [...headerList(single), ...headerList(multiple), ...cookiesOf(cookies)];
  return all.every(isSendable) ? { statusCode: status, headers: all } : undefined;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isScalar = (value: unknown): value is Scalar => ["string", "number", "boolean"].includes(typeof value);
const isScalars = (value: unknown): value is Scalar[] => Array.isArray(value) && value.every(isScalar);

function isRecordOf<Value>(
  given: unknown,
  isValue: (value: unknown) => value is Value,
): given is Readonly<Record<string, Value>> {
  return isRecord(given) && Object.values(given).every(isValue);
}

const headerList = (headers: Readonly<Record<string, Scalar | Scalar[]>>): Header[] =>
  Object.entries(headers).map(([name, value]) => [
    forwardedName(name),
    Array.isArray(value) ? value.map(String) : `${value}`,
  ]);

/** Whether HTTP allows the header; line breaks, for example, are not allowed. */
function isSendable([name, value]: Header): boolean {
  try {
    validateHeaderName(name);
    for (const each of [value].flat()) validateHeaderValue(name, each);
    return true;
  } catch {
    return false;
  }
}

const cookiesOf = (cookies: unknown): Header[] => (isScalars(cookies) ? [["Set-Cookie", cookies.map(String)]] : []);

/** API Gateway sets these headers itself and renames those of a function ("Important notes"). */
const remapped = new Set([
  "connection",
  "content-length",
  "date",
  "host",
  "server",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "www-authenticate",
]);

const forwardedName = (name: string) => (remapped.has(name.toLowerCase()) ? `x-amzn-Remapped-${name}` : name);

const compress = promisify(gzip);

/** Sends a buffered result, compressed from this size on where the client accepts it. */
export async function sendResult(
  request: IncomingMessage,
  response: ServerResponse,
  { statusCode, headers, body }: ProxyResult,
  compressedBytesMin: number,
): Promise<void> {
  startResponse(response, { statusCode, headers });
  const isCompressed =
    body.length >= compressedBytesMin && acceptsGzip(request) && !response.hasHeader("Content-Encoding");
  if (isCompressed) response.setHeader("Content-Encoding", "gzip");
  const content = isCompressed ? await compress(body) : body;
  // A HEAD response has no Content-Length: the length of a GET's body is not known.
  const hasBody = statusCode !== 204 && statusCode !== 304 && request.method !== "HEAD";
  if (hasBody) response.setHeader("Content-Length", content.length);
  response.end(content);
}

/** Sends each chunk as soon as it arrives. When the function fails after the head, the connection is broken. */
export async function sendStream(response: ServerResponse, { stream, ...head }: StreamedResult): Promise<void> {
  // The client has disconnected: a pipeline would neither write nor end.
  if (response.destroyed) return void stream.destroy();
  startResponse(response, head);
  // The client gets the head at once; the first chunk may take a while.
  response.flushHeaders();
  await pipeline(stream, response);
}

function startResponse(response: ServerResponse, { statusCode, headers }: ResultHead): void {
  response.statusCode = statusCode;
  response.setHeader("Content-Type", "application/json");
  for (const [name, value] of headers) response.setHeader(name, value);
}

const acceptsGzip = ({ headers }: IncomingMessage) =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(headers["accept-encoding"] ?? ""));
