import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { databaseRoleOf } from "../../build/database-role.ts";
import { secretArns } from "../../local/secrets.ts";
import { printLog } from "../log.ts";
import { type Answer, bundleRuntime, Failure } from "./environment.ts";
import type { FunctionError } from "./messages.ts";
import { type Loaded, openPool, type Variables } from "./pool.ts";
import { RequestTooLarge, TooManyRequests } from "./refusals.ts";
import type { Prelude } from "./stream.ts";

export interface LambdaOptions {
  /** Where the built functions are: `<outdir>/<stem>/index.mjs`. */
  readonly outdir: string;
  readonly limits?: Partial<LambdaLimits>;
  /**
   * The environment variables of functions. Default: those of this process when an environment opens. In addition each
   * function gets the ARN of its database role's secret.
   */
  readonly variables?: Variables;
  /** Keeps one environment booted without a function, so that the first invocation of a function is faster. */
  readonly keepsSpare?: boolean;
  /** Runs before a function is loaded, for example to build it again. When it fails, the invocation fails. */
  readonly prepare?: (name: string) => Promise<void>;
  /** Reserved concurrency by function: while so many invocations run, further ones fail with `TooManyRequests`. */
  readonly reserved?: Readonly<Record<string, number>>;
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
  /** Environments of one function at the same time; further invocations wait. */
  readonly environments: number;
  /** How long API Gateway waits. An invocation that has not begun shortly before is throttled. */
  readonly gatewayInMilliseconds: number;
}

/**
 * AWS, "Lambda quotas": 6 MB each way, 200 MB streamed, 900 s. API Gateway waits 29 s for a buffered answer. A machine
 * has room for fewer environments than AWS.
 */
export const lambdaLimits: LambdaLimits = {
  requestBytes: 6_291_456,
  responseBytes: 6_291_556,
  streamedBytes: 200 * 1_048_576,
  timeoutInMilliseconds: 29_000,
  longTimeoutInMilliseconds: 900_000,
  environments: 16,
  gatewayInMilliseconds: 29_000,
};

/** So that a throttled request is answered before API Gateway gives it up. */
const throttleReserveInMilliseconds = 1_000;
const throttlePauseInMilliseconds = 1_000;

export type Invocation = { readonly result: unknown } | { readonly error: FunctionError };
export type StreamedInvocation =
  | { readonly head: Prelude; readonly body: Readable }
  | { readonly error: FunctionError };

/** Runs functions as Lambda does, each in environments of its own. */
export interface Lambda {
  readonly names: ReadonlySet<string>;
  /**
   * Invokes a function and waits for its result; what a streaming function writes is collected into a REST result.
   * @throws {RequestTooLarge}
   * @throws {TooManyRequests}
   */
  invoke(name: string, event: unknown): Promise<Invocation>;
  /**
   * Invokes a streaming function; settles as soon as the head has arrived. When the function fails later, the body is
   * destroyed.
   * @throws {RequestTooLarge}
   * @throws {TooManyRequests}
   */
  stream(name: string, event: unknown): Promise<StreamedInvocation>;
  /** Invokes a function whose result nobody waits for: while it is throttled, this tries again. */
  send(name: string, event: unknown): Promise<void>;
  /** Keeps exactly so many environments of a function ready, as provisioned concurrency does. */
  provision(name: string, environments: number): Promise<void>;
  /** Loads every function again before its next invocation, as after a deployment. */
  renew(): Promise<void>;
  /** Ends all environments, even those that run an invocation. */
  close(): Promise<void>;
}

/** Starts a runtime over built functions; each is loaded when it is first invoked. */
export async function startLambda(options: LambdaOptions): Promise<Lambda> {
  const limits = { ...lambdaLimits, ...options.limits };
  const files = await findBundles(options.outdir);
  const pool = openPool({
    runtime: await bundleRuntime(options.outdir),
    files,
    environmentsMax: limits.environments,
    waitMaxInMilliseconds: limits.gatewayInMilliseconds - throttleReserveInMilliseconds,
    variablesOf: (name) => ({
      ...(options.variables ?? process.env),
      DATABASE_SECRET_ARN: secretArns[databaseRoleOf(name)],
    }),
    compiled: join(options.outdir, ".compiled"),
    keepsSpare: options.keepsSpare ?? false,
    prepare: options.prepare,
  });

  const running = new Map<string, number>();
  /** Counts an invocation against the function's reserved concurrency. Returns the function that ends the count. */
  const countInvocation = (name: string): (() => void) => {
    const count = running.get(name) ?? 0;
    if (count >= (options.reserved?.[name] ?? Number.POSITIVE_INFINITY))
      throw new TooManyRequests("ReservedFunctionConcurrentInvocationLimitExceeded");
    running.set(name, count + 1);
    return () => running.set(name, (running.get(name) ?? 0) - 1);
  };

  /**
   * On AWS an invocation does not wait for others, so its function knows when API Gateway gives up. Here it is told what
   * remains, and changes nothing after its request has been answered.
   */
  const timesOf = ({ name, isStreaming }: Loaded, waitedInMilliseconds: number) => {
    const isLong = isStreaming || name.startsWith("ops-");
    const timeoutInMilliseconds = isLong ? limits.longTimeoutInMilliseconds : limits.timeoutInMilliseconds;
    const untilAnswered = limits.gatewayInMilliseconds - waitedInMilliseconds;
    const remainingInMilliseconds = isLong ? timeoutInMilliseconds : Math.min(timeoutInMilliseconds, untilAnswered);
    return { timeoutInMilliseconds, remainingInMilliseconds };
  };

  /** Runs a function. When it fails, gives Lambda's answer. */
  const invoke = async <Result>(
    name: string,
    event: unknown,
    read: (answer: Answer) => Result | Promise<Result>,
  ): Promise<Result | { readonly error: FunctionError }> => {
    const text = textOf(event, limits.requestBytes);
    const sentAt = performance.now();
    const requestId = randomUUID();
    const log = (error: FunctionError) =>
      printLog("error", JSON.stringify({ level: "error", function: name, requestId, ...error }));
    try {
      if (!files.has(name)) throw new Failure(notFound(name));
      const uncount = countInvocation(name);
      const loaded = await pool.acquire(name).catch((error) => {
        uncount();
        throw error;
      });
      const { responseBytes, streamedBytes } = limits;
      const times = timesOf(loaded, performance.now() - sentAt);
      const run = loaded.environment.run({ requestId, event: text, ...times, responseBytes, streamedBytes }, log);
      void run.over.then(() => {
        uncount();
        pool.release(loaded);
      });
      return await read(await run.answer);
    } catch (error) {
      if (error instanceof TooManyRequests)
        log({ errorType: error.name, errorMessage: `${error.message} (${error.reason})` });
      if (!(error instanceof Failure)) throw error;
      // The build has already reported its errors.
      if (error.reason.errorType !== "BuildFailure") log(error.reason);
      return { error: error.reason };
    }
  };

  const invokeBuffered = (name: string, event: unknown): Promise<Invocation> =>
    invoke(name, event, async (answer) => {
      return { result: "text" in answer ? JSON.parse(answer.text) : await collect(answer, limits.responseBytes) };
    });

  const send = async (name: string, event: unknown): Promise<void> => {
    try {
      await invokeBuffered(name, event);
    } catch (error) {
      if (!(error instanceof TooManyRequests)) throw error;
      await sleep(throttlePauseInMilliseconds, undefined, { ref: false });
      await send(name, event);
    }
  };

  return {
    names: new Set(files.keys()),
    invoke: invokeBuffered,
    send,
    stream: (name, event) =>
      invoke(name, event, (answer) => {
        if ("head" in answer) return answer;
        throw new Failure(noStream);
      }),
    provision: pool.provision,
    renew: pool.renew,
    close: pool.close,
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

/** The event as JSON. */
function textOf(event: unknown, bytesMax: number): string {
  const text = JSON.stringify(event) ?? "null";
  if (Buffer.byteLength(text) <= bytesMax) return text;
  throw new RequestTooLarge(`Request must be smaller than ${bytesMax} bytes for the InvokeFunction operation`);
}

async function collect({ head, body }: { head: Prelude; body: Readable }, bytesMax: number): Promise<unknown> {
  const bytes = await buffer(body);
  const text = bytes.toString();
  const result = Buffer.from(text).equals(bytes)
    ? { ...head, body: text, isBase64Encoded: false }
    : { ...head, body: bytes.toString("base64"), isBase64Encoded: true };
  if (Buffer.byteLength(JSON.stringify(result)) > bytesMax) throw new Failure(tooLarge(bytesMax));
  return result;
}

const notFound = (name: string): FunctionError => ({
  errorType: "ResourceNotFoundException",
  errorMessage: `Function not found: ${name}`,
  trace: [],
});

const noStream: FunctionError = {
  errorType: "Runtime.MalformedStreamingHandler",
  errorMessage: "The handler is not wrapped by awslambda.streamifyResponse.",
};

const tooLarge = (bytesMax: number): FunctionError => ({
  errorType: "Function.ResponseSizeTooLarge",
  errorMessage: `Response payload size exceeded maximum allowed payload size (${bytesMax} bytes).`,
});
