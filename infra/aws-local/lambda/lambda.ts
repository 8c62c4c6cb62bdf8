import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { Environment, type InvocationResult, type StreamedResult } from "./environment.ts";
import { type Environments, openEnvironments } from "./environments.ts";
import { Failure } from "./failure.ts";
import { openLimiter } from "./limiter.ts";
import { type FunctionError, type LogLevel, responseTooLarge } from "./messages.ts";
import { RequestTooLarge, TooManyRequests } from "./refusals.ts";
import { type FunctionSettings, type LambdaLimits, lambdaLimits, type Variables } from "./settings.ts";

export interface LambdaOptions {
  /** Where the built functions are: `<outdir>/admin/list/index.mjs` is the function `admin-list`. */
  readonly outdir: string;
  /** The environment variables of all functions. Default: those of this process when an environment opens. */
  readonly variables?: Variables;
  readonly settingsOf?: (name: string) => FunctionSettings;
  readonly limits?: Partial<LambdaLimits>;
  /** Prints a line that a function has logged, or Lambda about it. Default: as it is. */
  readonly print?: Print;
  /**
   * Runs before a function is loaded, for example to build it again. When it fails, the invocation fails.
   * @returns the file to load, if it is another than that in `outdir`
   */
  readonly prepare?: (name: string) => Promise<string | undefined>;
}

export type Print = (level: LogLevel, text: string) => void;

const throttlePauseInMilliseconds = 1_000;

export type Invocation = { readonly result: unknown } | { readonly error: FunctionError };
export type StreamedInvocation = StreamedResult | { readonly error: FunctionError };

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
  /** Invokes a function asynchronously, and again while it is throttled. */
  send(name: string, event: unknown): Promise<void>;
  /** Keeps exactly so many environments of a function ready, as provisioned concurrency does. */
  provision(name: string, environments: number): Promise<void>;
  /** Loads every function again before its next invocation, as after a deployment. */
  renew(): Promise<void>;
  /** Ends all environments, even those that run an invocation. */
  close(): Promise<void>;
}

/** Starts Lambda over built functions; each is loaded when it is first invoked. */
export async function startLambda(options: LambdaOptions): Promise<Lambda> {
  const limits = { ...lambdaLimits, ...options.limits };
  const print: Print = options.print ?? ((level, text) => console[level](text));
  const settingsOf = options.settingsOf ?? ((): FunctionSettings => ({}));
  const timeoutOf = (name: string) => settingsOf(name).timeoutInMilliseconds ?? limits.gatewayInMilliseconds;
  const files = await findBundles(options.outdir);
  const whenProcessorFree = openLimiter(availableParallelism());
  const environments = new Map(
    [...files].map(([name, file]) => [
      name,
      openEnvironments({
        limits,
        whenProcessorFree,
        timeoutInMilliseconds: () => timeoutOf(name),
        async prepare() {
          for (const each of settingsOf(name).imports ?? []) await import(each);
          return (await options.prepare?.(name)) ?? file;
        },
        open: (prepared, loadingInMilliseconds) =>
          new Environment({
            name,
            file: prepared,
            variables: options.variables ?? process.env,
            settings: settingsOf(name),
            loadingInMilliseconds,
            print,
          }),
      }),
    ]),
  );
  const all = [...environments.values()];

  /**
   * On AWS an invocation does not wait for others, so a function that responds in one piece knows when API Gateway
   * gives up. Here the function gets the remaining time, and changes nothing after the response.
   */
  const timesOf = (name: string, waitedInMilliseconds: number) => {
    const { gatewayInMilliseconds } = limits;
    const timeoutInMilliseconds = timeoutOf(name);
    const untilAnswered = gatewayInMilliseconds - waitedInMilliseconds;
    const isLong = timeoutInMilliseconds > gatewayInMilliseconds;
    const remainingInMilliseconds = isLong ? timeoutInMilliseconds : Math.min(timeoutInMilliseconds, untilAnswered);
    return { timeoutInMilliseconds, remainingInMilliseconds };
  };

  const poolOf = (name: string): Environments => {
    const pool = environments.get(name);
    if (pool) return pool;
    throw new Failure({
      errorType: "ResourceNotFoundException",
      errorMessage: `Function not found: ${name}`,
      trace: [],
    });
  };

  /** Runs a function. When it fails, returns Lambda's error. */
  const invoke = async <Result>(
    name: string,
    event: unknown,
    read: (result: InvocationResult) => Result | Promise<Result>,
  ): Promise<Result | { readonly error: FunctionError }> => {
    const text = textOf(event, limits.requestBytes);
    const sentAt = performance.now();
    const requestId = randomUUID();
    const log = (error: FunctionError) =>
      print("error", JSON.stringify({ level: "error", function: name, requestId, ...error }));
    try {
      const pool = poolOf(name);
      const environment = await pool.acquire();
      const { responseBytes, streamedBytes } = limits;
      const times = timesOf(name, performance.now() - sentAt);
      const run = environment.run({ requestId, event: text, ...times, responseBytes, streamedBytes });
      void run.over.then(() => pool.release(environment));
      return await read(await run.result);
    } catch (error) {
      if (error instanceof TooManyRequests)
        log({ errorType: error.name, errorMessage: `${error.message} (${error.members.Reason})` });
      if (!(error instanceof Failure)) throw error;
      // The build has already reported its errors.
      if (error.reason.errorType !== "BuildFailure") log(error.reason);
      return { error: error.reason };
    }
  };

  const invokeBuffered = (name: string, event: unknown): Promise<Invocation> =>
    invoke(name, event, async (result) => {
      return { result: "text" in result ? JSON.parse(result.text) : await collect(result, limits.responseBytes) };
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
      invoke(name, event, (result) => {
        if ("head" in result) return result;
        throw new Failure({
          errorType: "Runtime.MalformedStreamingHandler",
          errorMessage: "The handler is not wrapped by awslambda.streamifyResponse.",
        });
      }),
    provision: (name, count) => poolOf(name).provision(count),
    renew: async () => void (await Promise.all(all.map((pool) => pool.renew()))),
    close: async () => void (await Promise.all(all.map((pool) => pool.close()))),
  };
}

/** Files by function name. */
async function findBundles(outdir: string): Promise<Map<string, string>> {
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

async function collect({ head, body }: StreamedResult, bytesMax: number): Promise<unknown> {
  const bytes = await buffer(body);
  const text = bytes.toString();
  const result = Buffer.from(text).equals(bytes)
    ? { ...head, body: text, isBase64Encoded: false }
    : { ...head, body: bytes.toString("base64"), isBase64Encoded: true };
  if (Buffer.byteLength(JSON.stringify(result)) > bytesMax) throw new Failure(responseTooLarge(bytesMax));
  return result;
}
