import inspector from "node:inspector";
import { Readable } from "node:stream";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import {
  type FromRuntime,
  type FunctionError,
  functionErrorOf,
  type Handlers,
  handleMessage,
  type Invoke,
  type LogLevel,
  type Message,
  type Start,
  type ToRuntime,
} from "./messages.ts";
import { type FunctionSettings, memoryInMegabytesDefault, type Variables } from "./settings.ts";
import type { Prelude } from "./stream.ts";

/** An execution environment: a thread that loads one function and runs one invocation of it at a time. */
export type Environment = ReturnType<typeof openEnvironment>;

export interface StreamedResult {
  readonly head: Prelude;
  readonly body: Readable;
}

/** The result as JSON text, or a stream. */
export type InvocationResult = { readonly text: string } | StreamedResult;

/** A function has failed. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly reason: FunctionError;

  constructor(reason: FunctionError) {
    super(reason.errorMessage);
    this.reason = reason;
  }
}

/** Whether a debugger can attach to this process: then functions have no timeout, because of breakpoints. */
export const isDebugged = inspector.url() !== undefined;

/** V8 would let it grow to 48, in each of dozens of threads, and give nothing back. */
const youngGenerationInMegabytes = 24;

/** Starts a thread, which loads a function from its file within a time. */
export function openEnvironment(
  name: string,
  file: string,
  variables: Variables,
  { memoryInMegabytes = memoryInMegabytesDefault, imports = [], ...settings }: FunctionSettings,
  print: (level: LogLevel, text: string) => void,
  loadingInMilliseconds: number,
) {
  const { NODE_COMPILE_CACHE: compileCache } = process.env;
  const { port1: port, port2 } = new MessageChannel();
  const sent = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL("runtime.ts", import.meta.url), {
    name: "lambda",
    workerData: { port: port2, sent, isDebugged, name, file, imports, memoryInMegabytes } satisfies Start,
    transferList: [port2],
    env: {
      // By it Node keeps what it compiles, if this process has it.
      ...(compileCache && { NODE_COMPILE_CACHE: compileCache }),
      ...variables,
      ...settings.variables,
      AWS_LAMBDA_FUNCTION_NAME: name,
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryInMegabytes),
    },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryInMegabytes, maxYoungGenerationSizeMb: youngGenerationInMegabytes },
  });
  /** Of the work that is done: loading, or an invocation. */
  let handlers: Handlers<FromRuntime> | undefined;
  let requestId = "";
  let hasEnded = false;
  let cause: Error | undefined;

  const log: Handlers<FromRuntime> = { log: ({ level, text }) => print(level, text) };
  const receive = (messages: readonly Message<FromRuntime>[]) => {
    for (const message of messages) handleMessage({ ...log, ...handlers }, message);
  };
  /** The environment ends before the work is done. */
  const fail = (reason: FunctionError) =>
    receive([
      { kind: "failed", value: reason },
      { kind: "done", value: undefined },
    ]);
  const send = <Kind extends keyof ToRuntime>(kind: Kind, value: ToRuntime[Kind]) => port.postMessage({ kind, value });

  port.on("message", receive);
  worker.once("error", (error) => {
    cause = error instanceof Error ? error : new Error(String(error));
  });
  worker.once("exit", (code) => {
    for (let left = receiveMessageOnPort(port); left; left = receiveMessageOnPort(port)) receive(left.message);
    hasEnded = true;
    port.close();
    fail(exitError(requestId, code, cause));
  });
  // An environment that waits for an invocation keeps no process alive.
  worker.unref();

  const end = async () => {
    hasEnded = true;
    await worker.terminate();
  };

  /** Returns the function that ends the work. */
  const begin = (next: Handlers<FromRuntime>, timeoutInMilliseconds: number, timeout: () => FunctionError) => {
    const onTimeout = () => {
      void end();
      fail(timeout());
    };
    const timer = isDebugged ? undefined : setTimeout(onTimeout, timeoutInMilliseconds);
    handlers = next;
    port.ref();
    return () => {
      clearTimeout(timer);
      handlers = undefined;
      port.unref();
    };
  };

  const load = async () => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const failed = (reason: FunctionError) => reject(new Failure(reason));
    const timeout = () => loadingError(name, loadingInMilliseconds);
    const finish = begin({ loaded: resolve, failed }, loadingInMilliseconds, timeout);
    return await promise.finally(finish);
  };

  return {
    /** Rejects with a `Failure` when the function cannot be loaded. */
    loaded: load(),

    run(invoke: Invoke) {
      const response = Promise.withResolvers<InvocationResult>();
      const over = Promise.withResolvers<void>();
      let body: Readable | undefined;
      // The runtime does not wait with the first chunk.
      let isFirstDue = true;
      const openBody = () =>
        new Readable({
          read() {
            if (!isFirstDue) send("pull", undefined);
          },
          destroy(error, callback) {
            if (handlers === current) send("abandon", undefined);
            callback(error);
          },
        });
      const finish = () => {
        done();
        over.resolve();
      };
      const current: Handlers<FromRuntime> = {
        result(text) {
          response.resolve({ text });
          finish();
        },
        head(head) {
          body = openBody();
          response.resolve({ head, body });
        },
        chunk(bytes) {
          isFirstDue = false;
          body?.push(bytes);
        },
        end: () => void body?.push(null),
        failed(reason) {
          const failure = new Failure(reason);
          response.reject(failure);
          // Without a listener the error would be uncaught; a caller that has no body yet gets it from `response`.
          body?.on("error", () => {}).destroy(failure);
        },
        done: finish,
      };
      requestId = invoke.requestId;
      const { timeoutInMilliseconds } = invoke;
      const done = begin(current, timeoutInMilliseconds, () => timeoutError(requestId, timeoutInMilliseconds));
      send("invoke", invoke);
      Atomics.store(sent, 0, 1);
      Atomics.notify(sent, 0);
      return {
        /** Resolves when the function has returned its result, or the head of its stream. @throws {Failure} */
        result: response.promise,
        /** Resolves when the environment can run another invocation, or has ended. */
        over: over.promise,
      };
    },

    get hasEnded() {
      return hasEnded;
    },

    end,
  };
}

const timedOut = "Sandbox.Timedout";

const timeoutError = (requestId: string, milliseconds: number): FunctionError => ({
  errorType: timedOut,
  errorMessage: `RequestId: ${requestId} Error: Task timed out after ${(milliseconds / 1000).toFixed(2)} seconds`,
});

const loadingError = (name: string, milliseconds: number): FunctionError => ({
  errorType: timedOut,
  errorMessage: `The function ${name} was not loaded within ${milliseconds / 1000} seconds, because this machine is busy`,
});

export const hasTimedOut = (error: unknown): boolean => error instanceof Failure && error.reason.errorType === timedOut;

/** Lambda's error for an environment that has ended unexpectedly. */
function exitError(requestId: string, code: number, cause: Error | undefined): FunctionError {
  const isOutOfMemory = cause && "code" in cause && cause.code === "ERR_WORKER_OUT_OF_MEMORY";
  if (cause && !isOutOfMemory) return functionErrorOf(cause);
  const why = isOutOfMemory
    ? "with error: signal: killed"
    : code === 0
      ? "without providing a reason"
      : `with error: exit status ${code}`;
  return {
    errorType: isOutOfMemory ? "Runtime.OutOfMemory" : "Runtime.ExitError",
    errorMessage: `RequestId: ${requestId} Error: Runtime exited ${why}`,
  };
}
