import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Prelude } from "./lambda-stream.ts";

type Scalar = string | number | boolean;

/** The head of a REST proxy result. */
export interface ResultHead {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

export interface ProxyResult extends ResultHead {
  readonly body: Buffer;
}

/**
 * Reads what a function gave, as strictly as API Gateway ("Output format of a Lambda function for proxy integration");
 * undefined is a "malformed Lambda proxy response".
 */
export function resultOf(given: unknown): ProxyResult | undefined {
  if (!isRecord(given)) return undefined;
  const { body = null, isBase64Encoded = false, ...rest } = given;
  const head = headOf(rest);
  if (!head || typeof isBase64Encoded !== "boolean" || (body !== null && typeof body !== "string")) return undefined;
  return { ...head, body: Buffer.from(body ?? "", isBase64Encoded ? "base64" : "utf8") };
}

/** The head of a result, or the prelude of a stream, which may have cookies as well. */
export function headOf(given: Prelude): ResultHead | undefined {
  const { statusCode, headers, multiValueHeaders, cookies, ...others } = given;
  const status = typeof statusCode === "string" && /^\d+$/.test(statusCode) ? Number(statusCode) : statusCode;
  if (typeof status !== "number" || !Number.isInteger(status) || status < 100 || status > 599) return undefined;
  if (Object.keys(others).length > 0) return undefined;
  const single = headers ?? {};
  const multiple = multiValueHeaders ?? {};
  if (!isRecordOf(single, isScalar) || !isRecordOf(multiple, isScalars)) return undefined;
  return { statusCode: status, headers: { ...merged(single, multiple), ...cookiesOf(cookies) } };
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

/** Names are compared without case, and the multiple values of a name win. */
function merged(
  single: Readonly<Record<string, Scalar>>,
  multiple: Readonly<Record<string, Scalar[]>>,
): Record<string, string | string[]> {
  const taken = new Set(Object.keys(multiple).map((name) => name.toLowerCase()));
  return Object.fromEntries([
    ...Object.entries(single).flatMap(([name, value]) =>
      taken.has(name.toLowerCase()) ? [] : [[sent(name), `${value}`]],
    ),
    ...Object.entries(multiple).map(([name, values]) => [sent(name), values.map(String)]),
  ]);
}

const cookiesOf = (cookies: unknown) => (isScalars(cookies) ? { "Set-Cookie": cookies.map(String) } : {});

/** API Gateway keeps these for itself and passes a function's on under another name ("Important notes"). */
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

const sent = (name: string) => (remapped.has(name.toLowerCase()) ? `x-amzn-Remapped-${name}` : name);

const compress = promisify(gzip);

/** Sends a buffered result, compressed as with `minimumCompressionSize` where the client accepts it. */
export async function sendResult(
  request: IncomingMessage,
  response: ServerResponse,
  { statusCode, headers, body }: ProxyResult,
  compressedBytesMin: number,
): Promise<void> {
  const isEncoded = Object.keys(headers).some((name) => name.toLowerCase() === "content-encoding");
  const isCompressed = !isEncoded && body.length >= compressedBytesMin && acceptsGzip(request);
  const content = isCompressed ? await compress(body) : body;
  response.writeHead(statusCode, {
    ...withType(headers),
    ...(isCompressed ? { "Content-Encoding": "gzip" } : {}),
    ...(statusCode === 204 || statusCode === 304 ? {} : { "Content-Length": content.length }),
  });
  response.end(content);
}

/** Passes a stream on as it comes. A function that fails on the way breaks the connection. */
export async function sendStream(
  response: ServerResponse,
  { statusCode, headers }: ResultHead,
  body: Readable,
): Promise<void> {
  response.writeHead(statusCode, withType(headers));
  response.flushHeaders();
  await pipeline(body, response);
}

const acceptsGzip = ({ headers }: IncomingMessage) =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(headers["accept-encoding"] ?? ""));

function withType(headers: ResultHead["headers"]): ResultHead["headers"] {
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === "content-type");
  return hasType ? headers : { "Content-Type": "application/json", ...headers };
}
