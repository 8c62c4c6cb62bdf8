import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { contextOf, type InvocationContext, inTime } from "./lambda-context.ts";
import {
  isStreamingHandler,
  named,
  openResponse,
  type Prelude,
  provideAwsLambda,
  ResponseStream,
} from "./lambda-stream.ts";

export interface LambdaOptions {
  /** Where the built functions are: `<outdir>/<stem>/index.mjs`. */
  readonly outdir: string;
  readonly limits?: Partial<LambdaLimits>;
}

export interface LambdaLimits {
  /** Of an event, as JSON. */
  readonly requestBytes: number;
  /** Of a buffered result, as JSON. */
  readonly responseBytes: number;
  readonly streamedBytes: number;
  /** Of functions that answer API Gateway in one piece. */
  readonly timeoutInMilliseconds: number;
  /** Of functions that stream, and of those that operators and deployments invoke (`ops-…`). */
  readonly longTimeoutInMilliseconds: number;
}

/** AWS, "Lambda quotas": 6 MB each way, 200 MB streamed, 900 s. API Gateway waits 29 s for a buffered answer. */
export const lambdaLimits: LambdaLimits = {
  requestBytes: 6_291_456,
  responseBytes: 6_291_556,
  streamedBytes: 200 * 1_048_576,
  timeoutInMilliseconds: 29_000,
  longTimeoutInMilliseconds: 900_000,
};

/** What Lambda answers when a function fails. */
export interface FunctionError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}

export type Invocation = { readonly result: unknown } | { readonly error: FunctionError };
export type StreamedInvocation =
  | { readonly head: Prelude; readonly body: Readable }
  | { readonly error: FunctionError };

/** Functions as Lambda runs them, in this process and with its environment. */
export interface Lambda {
  readonly names: ReadonlySet<string>;
  /**
   * Invokes a function and waits for its result; what a streaming function writes is collected into a REST result.
   * @throws {RequestTooLarge}
   */
  invoke(name: string, event: unknown): Promise<Invocation>;
  /**
   * Invokes a streaming function; settles as soon as the head is there. A function that fails later destroys the body.
   * @throws {RequestTooLarge}
   */
  stream(name: string, event: unknown): Promise<StreamedInvocation>;
}

/** The event is larger than Lambda accepts. */
export class RequestTooLarge extends Error {
  override readonly name = "RequestTooLargeException";
}

type Handler = (event: unknown, ...rest: unknown[]) => unknown;

/** Starts a runtime over built functions; each is loaded when it is first invoked. */
export async function startLambda(options: LambdaOptions): Promise<Lambda> {
  const limits = { ...lambdaLimits, ...options.limits };
  const files = await findBundles(options.outdir);
  provideAwsLambda();

  /** Loads and runs a function, and turns what it throws into what Lambda would answer. */
  const attempt = async <Result>(
    name: string,
    event: unknown,
    run: (handler: Handler, event: unknown, context: InvocationContext) => Promise<Result>,
  ): Promise<Result | { readonly error: FunctionError }> => {
    const received = copyOf(event, limits.requestBytes);
    let context: InvocationContext | undefined;
    try {
      const handler = await loadHandler(name, files.get(name));
      const isLong = isStreamingHandler(handler) || name.startsWith("ops-");
      context = contextOf(name, isLong ? limits.longTimeoutInMilliseconds : limits.timeoutInMilliseconds);
      return await run(handler, received, context);
    } catch (error) {
      return { error: logged(error, name, context) };
    }
  };

  return {
    names: new Set(files.keys()),
    invoke: (name, event) =>
      attempt(name, event, async (handler, received, context) => {
        const result = isStreamingHandler(handler)
          ? await collect(await open(handler, received, context, limits.streamedBytes))
          : await inTime(handler(received, context), context);
        return { result: limited(result, limits.responseBytes) };
      }),
    stream: (name, event) =>
      attempt(name, event, (handler, received, context) => open(handler, received, context, limits.streamedBytes)),
  };
}

/** Files by function name. */
async function findBundles(outdir: string): Promise<ReadonlyMap<string, string>> {
  const files = await readdir(outdir, { recursive: true });
  return new Map(
    files
      .filter((file) => file.endsWith("index.mjs"))
      .map((file) => [file.replace(/[\\/]index\.mjs$/, "").replaceAll(/[\\/]/g, "-"), join(outdir, file)]),
  );
}

async function loadHandler(name: string, file: string | undefined): Promise<Handler> {
  if (file === undefined) throw named("ResourceNotFoundException", `Function not found: ${name}`);
  const { handler } = await import(pathToFileURL(file).href);
  if (typeof handler === "function") return handler;
  throw named("Runtime.HandlerNotFound", "index.handler is undefined or not exported");
}

/** Events travel as JSON. */
function copyOf(event: unknown, bytesMax: number): unknown {
  const text = JSON.stringify(event) ?? "null";
  if (Buffer.byteLength(text) <= bytesMax) return JSON.parse(text);
  throw new RequestTooLarge(`Request must be smaller than ${bytesMax} bytes for the InvokeFunction operation`);
}

/** So do results. */
function limited(result: unknown, bytesMax: number): unknown {
  const text = JSON.stringify(result) ?? "null";
  if (Buffer.byteLength(text) <= bytesMax) return JSON.parse(text);
  const message = `Response payload size exceeded maximum allowed payload size (${bytesMax} bytes).`;
  throw named("Function.ResponseSizeTooLarge", message);
}

async function open(handler: Handler, event: unknown, context: InvocationContext, bytesMax: number) {
  const stream = new ResponseStream(bytesMax);
  const work = inTime(handler(event, stream, context), context);
  work.then(
    () => stream.fail(new Error("Response stream is not finished.")),
    (error) => stream.fail(error instanceof Error ? error : new Error(String(error))),
  );
  const opened = await openResponse(stream);
  work.catch((error) => {
    if (!stream.isAbandoned) logged(error, context.functionName, context);
  });
  return opened;
}

async function collect({ head, body }: { head: Prelude; body: Readable }): Promise<unknown> {
  const bytes = await buffer(body);
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes)
    ? { ...head, body: text, isBase64Encoded: false }
    : { ...head, body: bytes.toString("base64"), isBase64Encoded: true };
}

/** As the runtime does, writes to the log what a function throws, and gives what the caller is told. */
function logged(error: unknown, name: string, context: InvocationContext | undefined): FunctionError {
  const described = describe(error);
  console.error(JSON.stringify({ level: "error", function: name, requestId: context?.awsRequestId, ...described }));
  return described;
}

function describe(error: unknown): FunctionError {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: String(error), trace: [] };
  return { errorType: error.name, errorMessage: error.message, trace: error.stack?.split("\n") ?? [] };
}
