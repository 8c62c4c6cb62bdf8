import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { databaseRoleOf } from "../../database-role.ts";
import { secretArns } from "../data-api/secrets.ts";
import { type Answer, bundleRuntime, Failure } from "./environment.ts";
import type { FunctionError } from "./messages.ts";
import { openPool, type Variables } from "./pool.ts";
import type { Prelude } from "./stream.ts";

export interface LambdaOptions {
  /** Where the built functions are: `<outdir>/<stem>/index.mjs`. */
  readonly outdir: string;
  readonly limits?: Partial<LambdaLimits>;
  /**
   * The environment variables; without them those that this process has when an environment opens. Each function is
   * told the database's secret of its role.
   */
  readonly variables?: Variables;
  /** Makes the first invocation of a function faster, by an environment that is ready before it is known for what. */
  readonly keepsSpare?: boolean;
  /** What comes before a function is loaded, such as building it again; when it fails, so does the invocation. */
  readonly prepare?: (name: string) => Promise<void>;
  /** Reserved concurrency, by function: whoever comes while so many run is turned away. */
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
  /** Of one function, at once; more invocations wait for their turn. */
  readonly environments: number;
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
};

export type Invocation = { readonly result: unknown } | { readonly error: FunctionError };
export type StreamedInvocation =
  | { readonly head: Prelude; readonly body: Readable }
  | { readonly error: FunctionError };

/** Functions as Lambda runs them, each in environments of its own. */
export interface Lambda {
  readonly names: ReadonlySet<string>;
  /**
   * Invokes a function and waits for its result; what a streaming function writes is collected into a REST result.
   * @throws {RequestTooLarge}
   * @throws {TooManyRequests}
   */
  invoke(name: string, event: unknown): Promise<Invocation>;
  /**
   * Invokes a streaming function; settles as soon as the head is there. A function that fails later destroys the body.
   * @throws {RequestTooLarge}
   * @throws {TooManyRequests}
   */
  stream(name: string, event: unknown): Promise<StreamedInvocation>;
  /** Has so many environments of a function ready, as provisioned concurrency does, and no more. */
  provision(name: string, environments: number): Promise<void>;
  /** Has every function loaded anew before its next invocation, as a deployment does. */
  renew(): Promise<void>;
  /** Ends all environments, whatever they are doing. */
  close(): Promise<void>;
}

/** The event is larger than Lambda accepts. */
export class RequestTooLarge extends Error {
  override readonly name = "RequestTooLargeException";
}

/** As many run as are reserved for the function. */
export class TooManyRequests extends Error {
  override readonly name = "TooManyRequestsException";
}

/** Starts a runtime over built functions; each is loaded when it is first invoked. */
export async function startLambda(options: LambdaOptions): Promise<Lambda> {
  const limits = { ...lambdaLimits, ...options.limits };
  const files = await findBundles(options.outdir);
  const pool = openPool({
    runtime: await bundleRuntime(options.outdir),
    files,
    environmentsMax: limits.environments,
    variablesOf: (name) => ({
      ...(options.variables ?? process.env),
      DATABASE_SECRET_ARN: secretArns[databaseRoleOf(name)],
    }),
    compiled: join(options.outdir, ".compiled"),
    keepsSpare: options.keepsSpare ?? false,
    prepare: options.prepare,
  });

  const running = new Map<string, number>();
  /** Takes one of the places that are reserved for a function, where any are; what comes back gives it back. */
  const enter = (name: string): (() => void) => {
    const already = running.get(name) ?? 0;
    if (already >= (options.reserved?.[name] ?? Number.POSITIVE_INFINITY)) throw new TooManyRequests("Rate Exceeded.");
    running.set(name, already + 1);
    return () => running.set(name, (running.get(name) ?? 0) - 1);
  };

  /** Runs a function, and turns what goes wrong into what Lambda would answer. */
  const attempt = async <Result>(
    name: string,
    event: unknown,
    read: (answer: Answer) => Result | Promise<Result>,
  ): Promise<Result | { readonly error: FunctionError }> => {
    const text = textOf(event, limits.requestBytes);
    const requestId = randomUUID();
    const log = (error: FunctionError) =>
      console.error(JSON.stringify({ level: "error", function: name, requestId, ...error }));
    try {
      if (!files.has(name)) throw new Failure(notFound(name));
      const leave = enter(name);
      const loaded = await pool.acquire(name).catch((error) => {
        leave();
        throw error;
      });
      const { environment, isStreaming } = loaded;
      const isLong = isStreaming || name.startsWith("ops-");
      const timeoutInMilliseconds = isLong ? limits.longTimeoutInMilliseconds : limits.timeoutInMilliseconds;
      const { responseBytes, streamedBytes } = limits;
      const run = environment.run({ requestId, event: text, timeoutInMilliseconds, responseBytes, streamedBytes }, log);
      void run.over.then(() => {
        leave();
        pool.release(loaded);
      });
      return await read(await run.answer);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      // Who builds has said it already.
      if (error.reason.errorType !== "BuildFailure") log(error.reason);
      return { error: error.reason };
    }
  };

  return {
    names: new Set(files.keys()),
    invoke: (name, event) =>
      attempt(name, event, async (answer) => {
        return { result: "text" in answer ? JSON.parse(answer.text) : await collect(answer, limits.responseBytes) };
      }),
    stream: (name, event) =>
      attempt(name, event, (answer) => {
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

/** Events travel as JSON. */
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
