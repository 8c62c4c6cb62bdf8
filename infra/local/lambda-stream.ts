import { PassThrough, type Readable } from "node:stream";

/** What a streaming function says before its body: the REST proxy result without the body. */
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
  #isStarted = false;
  #bytes = 0;
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    super();
    this.#bytesMax = bytesMax;
    // What breaks it is told to its reader; without one it must not end the process.
    this.on("error", () => {});
  }

  setContentType(_type: string): void {
    if (this.#isStarted) throw named("Runtime.InvalidStreamingOperation", "Cannot set content-type, too late.");
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
      this.destroy(named("Function.ResponseSizeTooLarge", message));
    }
    return super.write(bytes, [second, third].find(isCallback));
  }
}

function bytesOf(chunk: unknown, encoding: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk !== "string") return Buffer.from(JSON.stringify(chunk));
  return Buffer.from(chunk, typeof encoding === "string" && Buffer.isEncoding(encoding) ? encoding : "utf8");
}

const isCallback = (value: unknown): value is (error: Error | null | undefined) => void => typeof value === "function";

/** An error with the name under which Lambda reports it. */
export const named = (name: string, message: string) => Object.assign(new Error(message), { name });

/** Puts `awslambda` where Lambda's Node.js runtime has it; bundles of streaming functions need it to load. */
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

/** Reads up to the end of the prelude and leaves the body in the stream; undefined when there is no valid prelude. */
export async function readPrelude(stream: Readable): Promise<Prelude | undefined> {
  const text = await readToDelimiter(stream);
  try {
    const prelude: unknown = JSON.parse(text ?? "");
    return isRecord(prelude) ? prelude : undefined;
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Prelude =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function readToDelimiter(stream: Readable): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    const finish = (text: string | undefined) => {
      stream.off("readable", read).off("end", end).off("error", reject);
      resolve(text);
    };
    const end = () => finish(undefined);
    const read = () => {
      for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) {
        head = Buffer.concat([head, chunk]);
        const length = head.indexOf(delimiter);
        if (length < 0 && head.length <= preludeBytesMax) continue;
        if (length < 0 || length > preludeBytesMax) return finish(undefined);
        const rest = head.subarray(length + delimiter.length);
        if (rest.length > 0) stream.unshift(rest);
        return finish(head.toString("utf8", 0, length));
      }
    };
    stream.on("readable", read).once("end", end).once("error", reject);
    if (stream.destroyed) reject(stream.errored ?? named("Runtime.StreamError", "The response stream was closed."));
  });
}
