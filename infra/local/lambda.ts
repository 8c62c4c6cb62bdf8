import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

export interface FunctionError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}

export type Invocation = { readonly result: unknown } | { readonly error: FunctionError };

/** Functions as Lambda runs them, in this process and with its environment. */
export interface Lambda {
  readonly names: ReadonlySet<string>;
  /** Synchronous invocation; a streaming function's answer is collected first. */
  invoke(name: string, event: unknown): Promise<Invocation>;
  /** Invocation with a streamed answer: bytes as the function writes them, broken off where it fails. */
  stream(name: string, event: unknown): Readable;
}

export interface LambdaOptions {
  /** Where the built functions are: `<outdir>/<stem>/index.mjs`. */
  readonly outdir: string;
  /** Request and response of a buffered invocation (Lambda quotas: 6 MB). */
  readonly payloadBytesMax?: number;
  readonly timeoutInMilliseconds?: number;
}

const payloadQuotaInBytes = 6 * 1024 * 1024;
const timeoutInMillisecondsMax = 29_000;

const streaming = Symbol("streaming");
type Handler = ((...parameters: unknown[]) => unknown) & { [streaming]?: true };

/** What the Node.js runtime of Lambda offers to streaming functions, the metadata ended by eight NUL bytes. */
const awslambda = {
  streamifyResponse: (handler: Handler) => Object.assign(handler, { [streaming]: true }),
  HttpResponseStream: {
    from(stream: PassThrough, metadata: unknown) {
      stream.write(JSON.stringify(metadata));
      stream.write(Buffer.alloc(8));
      return stream;
    },
  },
};

/** Starts a runtime over built functions; each is loaded when it is first invoked. */
export async function startLambda(options: LambdaOptions): Promise<Lambda> {
  Object.assign(globalThis, { awslambda });
  const { outdir, payloadBytesMax = payloadQuotaInBytes, timeoutInMilliseconds = timeoutInMillisecondsMax } = options;
  const files = (await readdir(outdir, { recursive: true })).filter((file) => file.endsWith("index.mjs"));
  const modules = new Map(files.map((file) => [nameOf(file), join(outdir, file)]));

  const load = async (name: string): Promise<Handler> => {
    const file = modules.get(name);
    if (!file) throw new Error(`There is no function ${name}`);
    const { handler } = await import(pathToFileURL(file).href);
    return handler;
  };

  const run = async (name: string, event: unknown, stream: PassThrough): Promise<unknown> => {
    if (Buffer.byteLength(JSON.stringify(event)) > payloadBytesMax) {
      throw failure("RequestTooLargeException", `Request must be smaller than ${payloadBytesMax} bytes`);
    }
    const handler = await load(name);
    const context = contextOf(name, timeoutInMilliseconds);
    const received = structuredClone(event);
    const work = handler[streaming] ? handler(received, stream, context) : handler(received, context);
    return await within(timeoutInMilliseconds, Promise.resolve(work));
  };

  return {
    names: new Set(modules.keys()),
    async invoke(name, event) {
      const stream = new PassThrough();
      try {
        const [bytes, returned] = await Promise.all([
          buffer(stream),
          run(name, event, stream).finally(() => stream.end()),
        ]);
        const result = bytes.length > 0 ? collected(bytes) : returned;
        if (Buffer.byteLength(JSON.stringify(result) ?? "") > payloadBytesMax) {
          throw failure(
            "Function.ResponseSizeTooLarge",
            `Response payload size exceeded maximum allowed payload size (${payloadBytesMax} bytes).`,
          );
        }
        return { result: result ?? null };
      } catch (error) {
        stream.destroy();
        return { error: described(error) };
      }
    },
    stream(name, event) {
      const stream = new PassThrough();
      run(name, event, stream).then(
        () => stream.writableEnded || stream.end(),
        (error: Error) => stream.destroy(error),
      );
      return stream;
    },
  };
}

const nameOf = (file: string) =>
  file
    .replaceAll("\\", "/")
    .replace(/\/index\.mjs$/, "")
    .replaceAll("/", "-");

function contextOf(functionName: string, timeout: number) {
  const deadline = Date.now() + timeout;
  return {
    awsRequestId: randomUUID(),
    callbackWaitsForEmptyEventLoop: true,
    functionName,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:eu-central-1:123456789012:function:${functionName}`,
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: "local",
    memoryLimitInMB: "1024",
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
}

async function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `Task timed out after ${(milliseconds / 1000).toFixed(2)} seconds`;
    timer = setTimeout(() => reject(failure("Sandbox.Timedout", message)), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

const failure = (name: string, message: string) => Object.assign(new Error(message), { name });

function described(error: unknown): FunctionError {
  if (!(error instanceof Error)) return { errorType: "Error", errorMessage: String(error) };
  return { errorType: error.name, errorMessage: error.message, trace: error.stack?.split("\n") ?? [] };
}

/** A streamed answer as the REST result it stands for. */
function collected(bytes: Buffer): unknown {
  const { head, bodyStart } = preludeOf(bytes) ?? {};
  if (!head) return bytes.toString();
  const body = bytes.subarray(bodyStart);
  const isBase64Encoded = "Content-Encoding" in (head.headers ?? {});
  return { ...head, isBase64Encoded, body: body.toString(isBase64Encoded ? "base64" : "utf8") };
}

export interface StreamHead {
  readonly statusCode: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const preludeEnd = Buffer.alloc(8);

/** The metadata a streamed answer begins with, once they have arrived whole. */
export function preludeOf(bytes: Buffer): { head: StreamHead; bodyStart: number } | undefined {
  const end = bytes.indexOf(preludeEnd);
  if (end < 0) return undefined;
  return { head: JSON.parse(bytes.toString("utf8", 0, end)), bodyStart: end + preludeEnd.length };
}
