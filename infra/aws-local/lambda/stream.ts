import { PassThrough } from "node:stream";

/** What a streaming function writes before its body: the REST proxy result without the body. */
export type Prelude = Readonly<Record<string, unknown>>;

const streaming = Symbol.for("aws.lambda.runtime.handler.streaming");
const delimiter = Buffer.alloc(8);
/** API Gateway, "Set up a Lambda proxy integration with payload response streaming". */
const preludeBytesMax = 16_384;

/**
 * The stream a streaming function writes to. As in Lambda's runtime client, the prelude goes out before the first
 * `write`; `end` with a chunk sends the chunk without any prelude.
 */
export class ResponseStream extends PassThrough {
  prelude: Prelude | undefined;
  isAbandoned = false;
  #failure: Error | undefined;
  #isStarted = false;
  #bytes = 0;
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    super();
    this.#bytesMax = bytesMax;
  }

  setContentType(_type: string): void {
    if (this.#isStarted) throw runtimeError("Runtime.InvalidStreamingOperation", "Cannot set content-type, too late.");
  }

  override write(chunk: unknown, second?: unknown, third?: unknown): boolean {
    const bytes = bytesOf(chunk, second);
    if (!this.#isStarted) {
      this.#isStarted = true;
      if (this.prelude) super.write(Buffer.concat([Buffer.from(JSON.stringify(this.prelude)), delimiter]));
    }
    this.#bytes += bytes.length;
    if (this.#bytes > this.#bytesMax) {
      const message = `Response stream exceeded maximum allowed payload size (${this.#bytesMax} bytes).`;
      throw runtimeError("Function.ResponseSizeTooLarge", message);
    }
    return super.write(bytes, [second, third].find(isCallback));
  }

  /** Ends the stream with an error, after everything that was written before. */
  fail(error: Error): void {
    if (this.writableEnded) return;
    this.#failure = error;
    this.end();
  }

  /** Ends the stream because its reader is gone. Lambda would let the function write on; here its next write fails. */
  abandon(): void {
    if (this.readableEnded) return;
    this.isAbandoned = true;
    this.destroy(new Error("Nobody reads the response any more."));
  }

  /** What was written; throws where the stream failed. */
  async *content(): AsyncGenerator<Buffer> {
    yield* this;
    if (this.#failure) throw this.#failure;
  }
}

function bytesOf(chunk: unknown, encoding: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk !== "string") return Buffer.from(JSON.stringify(chunk));
  return Buffer.from(chunk, typeof encoding === "string" && Buffer.isEncoding(encoding) ? encoding : "utf8");
}

const isCallback = (value: unknown): value is (error: Error | null | undefined) => void => typeof value === "function";

/** An error with the `errorType` that Lambda reports. */
export const runtimeError = (name: string, message: string) => Object.assign(new Error(message), { name });

/** Defines the global `awslambda`, as Lambda's Node.js runtime does; bundles of streaming functions need it to load. */
export function provideAwsLambda(): void {
  Object.assign(globalThis, { awslambda: { streamifyResponse, HttpResponseStream: { from: startWithPrelude } } });
}

const streamifyResponse = (handler: object) => Object.assign(handler, { [streaming]: "response" });

function startWithPrelude(stream: ResponseStream, prelude: Prelude): ResponseStream {
  stream.setContentType("application/vnd.awslambda.http-integration-response");
  stream.prelude = prelude;
  return stream;
}

export const isStreamingHandler = (handler: object): boolean => streaming in handler;

/** Splits a response into prelude and body, as soon as the prelude has been written. */
export async function openResponse(
  stream: ResponseStream,
): Promise<{ head: Prelude; content: AsyncGenerator<Buffer> }> {
  try {
    const content = stream.content();
    const start = await untilDelimiter(content);
    const end = start.indexOf(delimiter);
    const head = parsePrelude(start.toString("utf8", 0, end));
    return { head, content: continued(start.subarray(end + delimiter.length), content) };
  } catch (error) {
    stream.abandon();
    throw error;
  }
}

async function untilDelimiter(content: AsyncGenerator<Buffer>): Promise<Buffer> {
  let start = Buffer.alloc(0);
  while (start.length <= preludeBytesMax) {
    const { done, value } = await content.next();
    if (done) break;
    start = Buffer.concat([start, value]);
    if (start.includes(delimiter)) return start;
  }
  throw noMetadata();
}

async function* continued(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first;
  yield* rest;
}

function parsePrelude(text: string): Prelude {
  const prelude: unknown = text.length <= preludeBytesMax && JSON.parse(text);
  if (typeof prelude !== "object" || prelude === null || Array.isArray(prelude)) throw noMetadata();
  return Object.fromEntries(Object.entries(prelude));
}

const noMetadata = () =>
  runtimeError("Runtime.MalformedStreamingHandler", "The response stream does not begin with metadata.");
