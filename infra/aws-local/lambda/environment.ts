import { randomUUID } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import inspector from "node:inspector";
import { join } from "node:path";
import { Readable } from "node:stream";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import { build } from "esbuild";
import { printLog } from "../log.ts";
import { memoryInMegabytes } from "./context.ts";
import {
  type FromRuntime,
  type FunctionError,
  functionErrorOf,
  type Invoke,
  type Load,
  type Start,
  type ToRuntime,
} from "./messages.ts";
import type { Prelude } from "./stream.ts";

/** An execution environment: a thread that loads one function and runs one invocation of it at a time. */
export interface Environment {
  /** @throws {Failure} */
  load(load: Omit<Load, "kind">): Promise<{ readonly isStreaming: boolean }>;
  run(invoke: Omit<Invoke, "kind">, logLate: (error: FunctionError) => void): Run;
  readonly hasEnded: boolean;
  end(): Promise<void>;
}

export interface Run {
  /** Resolves when the function has given its result, or the head of its stream. @throws {Failure} */
  readonly answer: Promise<Answer>;
  /** Resolves when the environment can run another invocation, or has ended. */
  readonly over: Promise<void>;
}

/** The result as JSON text, or a stream. */
export type Answer = { readonly text: string } | { readonly head: Prelude; readonly body: Readable };

/** A function has failed. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly reason: FunctionError;

  constructor(reason: FunctionError) {
    super(reason.errorMessage);
    this.reason = reason;
  }
}

interface Work {
  readonly requestId: string;
  receive(message: FromRuntime): void;
  /** The environment has ended before the work was done. */
  fail(reason: FunctionError): void;
}

/**
 * Writes the runtime as one JavaScript module. Each thread would otherwise strip the types, and take twice as long to
 * boot.
 * @returns its file
 */
export async function bundleRuntime(directory: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "runtime.ts")],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["sharp"],
  });
  const file = join(directory, "runtime.mjs");
  // Written to another file and renamed, because other threads may be reading the old one.
  const unfinished = join(directory, `runtime-${randomUUID()}.mjs`);
  await writeFile(unfinished, outputFiles[0]?.text ?? "");
  await rename(unfinished, file);
  return file;
}

/** How long loading a function may take (AWS, "Understanding the Lambda execution environment lifecycle"). */
const loadingInMilliseconds = 10_000;

/** Whether a debugger can attach to this process: then functions have no timeout, because of breakpoints. */
export const isDebugged = inspector.url() !== undefined;

/** Boots a runtime, which waits for a function to load. */
export function openEnvironment(runtime: string): Environment {
  const { port1: port, port2 } = new MessageChannel();
  const sent = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(runtime, {
    workerData: { port: port2, sent, isDebugged } satisfies Start,
    transferList: [port2],
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryInMegabytes },
  });
  let work: Work | undefined;
  let hasEnded = false;
  let cause: Error | undefined;

  const receive = (message: FromRuntime) => {
    if (message.kind === "log") printLog(message.level, message.text);
    else work?.receive(message);
  };
  port.on("message", receive);
  worker.once("error", (error) => {
    cause = error;
  });
  worker.once("exit", (code) => {
    for (let left = receiveMessageOnPort(port); left; left = receiveMessageOnPort(port)) receive(left.message);
    hasEnded = true;
    port.close();
    work?.fail(exitError(work.requestId, code, cause));
  });
  // An environment that waits for an invocation keeps no process alive.
  port.unref();
  worker.unref();

  const begin = (message: Load | Invoke, timeoutInMilliseconds: number, next: Work) => {
    const timer = isDebugged
      ? undefined
      : setTimeout(() => {
          void end();
          next.fail(timeoutError(next.requestId, timeoutInMilliseconds));
        }, timeoutInMilliseconds);
    work = next;
    port.ref();
    send(message);
    Atomics.add(sent, 0, 1);
    Atomics.notify(sent, 0);
    return () => {
      clearTimeout(timer);
      work = undefined;
      port.unref();
    };
  };

  const send = (message: ToRuntime) => port.postMessage(message);

  const end = async () => {
    hasEnded = true;
    await worker.terminate();
  };

  return {
    load(load) {
      const { promise, resolve, reject } = Promise.withResolvers<{ isStreaming: boolean }>();
      const finish = begin({ kind: "load", ...load }, loadingInMilliseconds, {
        requestId: "",
        receive: (message) => {
          if (message.kind === "loaded") resolve(message);
          if (message.kind === "failed") reject(new Failure(message.error));
        },
        fail: (reason) => reject(new Failure(reason)),
      });
      return promise.finally(finish);
    },

    run(invoke, logLate) {
      const answer = Promise.withResolvers<Answer>();
      const over = Promise.withResolvers<void>();
      const body = new Readable({
        read: () => send({ kind: "pull" }),
        destroy(error, callback) {
          if (work === current) send({ kind: "abandon" });
          callback(error);
        },
      });
      const fail = (reason: FunctionError) => {
        const failure = new Failure(reason);
        answer.reject(failure);
        // Without a listener the error would be uncaught; a caller that has no body yet gets it from `answer`.
        body.on("error", () => {}).destroy(failure);
      };
      const finish = () => {
        done();
        over.resolve();
      };
      const current: Work = {
        requestId: invoke.requestId,
        receive(message) {
          if (message.kind === "head") answer.resolve({ head: message.head, body });
          else if (message.kind === "chunk") body.push(message.bytes);
          else if (message.kind === "end") body.push(null);
          else if (message.kind === "failed-late") logLate(message.error);
          else if (message.kind === "failed" || message.kind === "broken") fail(message.error);
          else if (message.kind === "result") answer.resolve({ text: message.text });
          if (message.kind === "result" || message.kind === "done") finish();
        },
        fail(reason) {
          fail(reason);
          finish();
        },
      };
      const done = begin({ kind: "invoke", ...invoke }, invoke.timeoutInMilliseconds, current);
      return { answer: answer.promise, over: over.promise };
    },

    get hasEnded() {
      return hasEnded;
    },

    end,
  };
}

const timeoutError = (requestId: string, milliseconds: number): FunctionError => ({
  errorType: "Sandbox.Timedout",
  errorMessage: `RequestId: ${requestId} Error: Task timed out after ${(milliseconds / 1000).toFixed(2)} seconds`,
});

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
