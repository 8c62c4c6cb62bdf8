import { Writable } from "node:stream";

/** What a streaming function writes before its body: the REST proxy result without the body. */
export type Prelude = Readonly<Record<string, unknown>>;

const streaming = Symbol.for("aws.lambda.runtime.handler.streaming");
/** API Gateway, "Set up a Lambda proxy integration with payload response streaming". */
const preludeBytesMax = 16_384;

/** Gets a response stream, piece by piece. */
export interface Reader {
  head(prelude: Prelude): void;
  /** Resolves when the reader wants more. */
  wantsMore(): Promise<void>;
  chunk(bytes: Buffer): void;
  end(): void;
}

/**
 * The stream a streaming function writes to. As in Lambda's runtime client, the prelude goes out before the first
 * `write`; `end` with a chunk sends the chunk without any prelude. Other preludes than those of
 * `HttpResponseStream.from` are not recognized.
 */
export class ResponseStream extends Writable {
  prelude: Prelude | undefined;
  hasHead = false;
  isAbandoned = false;
  #failure: Error | undefined;
  #isStarted = false;
  #bytes = 0;
  readonly #bytesMax: number;
  readonly #reader: Reader;

  constructor(bytesMax: number, reader: Reader) {
    super();
    this.#bytesMax = bytesMax;
    this.#reader = reader;
  }

  setContentType(_type: string): void {
    if (this.#isStarted) throw runtimeError("Runtime.InvalidStreamingOperation", "Cannot set content-type, too late.");
  }

  override write(chunk: unknown, ...others: unknown[]): boolean {
    this.#isStarted = true;
    return super.write(chunk, ...(others as [BufferEncoding]));
  }

  override _write(chunk: Buffer, _encoding: string, callback: (error?: Error) => void): void {
    this.#send(chunk).then(() => callback(), callback);
  }

  override _final(callback: (error?: Error) => void): void {
    this.#end().then(() => callback(), callback);
  }

  async #send(bytes: Buffer): Promise<void> {
    if (!this.hasHead) this.#sendHead();
    if (bytes.length === 0) return;
    this.#bytes += bytes.length;
    if (this.#bytes > this.#bytesMax) {
      const message = `Response stream exceeded maximum allowed payload size (${this.#bytesMax} bytes).`;
      throw runtimeError("Function.ResponseSizeTooLarge", message);
    }
    await this.#reader.wantsMore();
    this.#reader.chunk(bytes);
  }

  #sendHead(): void {
    const text = JSON.stringify(this.#isStarted ? this.prelude : undefined) ?? "";
    if (!text.startsWith("{") || Buffer.byteLength(text) > preludeBytesMax) throw noMetadata();
    this.#reader.head(JSON.parse(text));
    this.hasHead = true;
  }

  async #end(): Promise<void> {
    if (this.#failure) {
      await this.#reader.wantsMore();
      throw this.#failure;
    }
    if (!this.hasHead) throw noMetadata();
    this.#reader.end();
  }

  /** Ends the stream with an error, after everything that was written before. */
  fail(error: Error): void {
    if (this.writableEnded) return;
    this.#failure = error;
    this.end();
  }

  /** Ends the stream because its reader has disconnected. Lambda would let the function write on; here its next write fails. */
  abandon(): void {
    if (this.writableFinished) return;
    this.isAbandoned = true;
    this.destroy(new Error("The reader of the response has disconnected."));
  }
}

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

const noMetadata = () =>
  runtimeError("Runtime.MalformedStreamingHandler", "The response stream does not begin with metadata.");
