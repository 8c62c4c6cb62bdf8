import inspector from "node:inspector";
import { Readable } from "node:stream";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { exitError, Failure, loadingError, timeoutError } from "./failure.ts";
import {
  type FromRuntime,
  type FunctionError,
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

export interface StreamedResult {
  readonly head: Prelude;
  readonly body: Readable;
}

/** The result as JSON text, or a stream. */
export type InvocationResult = { readonly text: string } | StreamedResult;

/** Whether a debugger can attach to this process: then functions have no timeout, because of breakpoints. */
export const isDebugged = inspector.url() !== undefined;

/** V8's default is 48. It would fill them in each of dozens of threads, and give nothing back. */
const youngGenerationInMegabytes = 24;

export interface EnvironmentOptions {
  /** The function. */
  readonly name: string;
  readonly file: string;
  readonly variables: Variables;
  readonly settings: FunctionSettings;
  readonly loadingInMilliseconds: number;
  print(level: LogLevel, text: string): void;
}

/** Loading, or an invocation: what has to end within a time. */
interface Work {
  readonly handlers: Handlers<FromRuntime>;
  readonly timer: NodeJS.Timeout | undefined;
}

/** An execution environment: a thread that loads one function and runs one invocation of it at a time. */
export class Environment {
  /** Rejects with a `Failure` when the function cannot be loaded. */
  readonly loaded: Promise<void>;
  readonly #options: EnvironmentOptions;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  /** 1 wakes the thread, which sleeps between invocations. */
  readonly #sent = new Int32Array(new SharedArrayBuffer(4));
  /** Undefined while the environment waits for an invocation. */
  #work: Work | undefined;
  /** Of the last invocation. */
  #requestId = "";
  /** The error that the function did not catch. */
  #uncaught: Error | undefined;
  #hasEnded = false;

  /** Starts a thread, which loads a function from its file within a time. */
  constructor(options: EnvironmentOptions) {
    this.#options = options;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#worker = startThread(options, port2, this.#sent);
    this.#port.on("message", (messages) => this.#receive(messages));
    this.#worker.once("error", (error) => {
      this.#uncaught = error instanceof Error ? error : new Error(String(error));
    });
    this.#worker.once("exit", (code) => this.#exit(code));
    // An environment that waits for an invocation keeps no process alive.
    this.#worker.unref();
    this.loaded = this.#load();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#worker.terminate();
  }

  async #load(): Promise<void> {
    const { name, loadingInMilliseconds } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const failed = (reason: FunctionError) => reject(new Failure(reason));
    this.#begin({ loaded: resolve, failed }, loadingInMilliseconds, () => loadingError(name, loadingInMilliseconds));
    await promise.finally(() => this.#finish());
  }

  run(invoke: Invoke) {
    const response = Promise.withResolvers<InvocationResult>();
    const over = Promise.withResolvers<void>();
    let body: Readable | undefined;
    // The runtime sends the first chunk without a pull.
    let isFirstDue = true;
    const openBody = () =>
      new Readable({
        read: () => {
          if (!isFirstDue) this.#send("pull", undefined);
        },
        destroy: (error, callback) => {
          if (this.#work?.handlers === handlers) this.#send("abandon", undefined);
          callback(error);
        },
      });
    const done = () => {
      this.#finish();
      over.resolve();
    };
    const handlers: Handlers<FromRuntime> = {
      result(text) {
        response.resolve({ text });
        done();
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
      done,
    };
    const { requestId, timeoutInMilliseconds } = invoke;
    this.#requestId = requestId;
    this.#begin(handlers, timeoutInMilliseconds, () => timeoutError(requestId, timeoutInMilliseconds));
    this.#send("invoke", invoke);
    Atomics.store(this.#sent, 0, 1);
    Atomics.notify(this.#sent, 0);
    return {
      /** Resolves when the function has returned its result, or the head of its stream. @throws {Failure} */
      result: response.promise,
      /** Resolves when the environment can run another invocation, or has ended. */
      over: over.promise,
    };
  }

  #begin(handlers: Handlers<FromRuntime>, timeoutInMilliseconds: number, timeout: () => FunctionError): void {
    const onTimeout = () => {
      void this.end();
      this.#fail(timeout());
    };
    this.#work = { handlers, timer: isDebugged ? undefined : setTimeout(onTimeout, timeoutInMilliseconds) };
    this.#port.ref();
  }

  #finish(): void {
    clearTimeout(this.#work?.timer);
    this.#work = undefined;
    this.#port.unref();
  }

  /** Fails the work, if there is any, because the environment ends. */
  #fail(reason: FunctionError): void {
    this.#receive([
      { kind: "failed", value: reason },
      { kind: "done", value: undefined },
    ]);
  }

  #exit(code: number): void {
    for (let left = receiveMessageOnPort(this.#port); left; left = receiveMessageOnPort(this.#port))
      this.#receive(left.message);
    this.#hasEnded = true;
    this.#port.close();
    this.#fail(exitError(this.#requestId, code, this.#uncaught));
  }

  #send<Kind extends keyof ToRuntime>(kind: Kind, value: ToRuntime[Kind]): void {
    this.#port.postMessage({ kind, value });
  }

  #receive(messages: readonly Message<FromRuntime>[]): void {
    const log: Handlers<FromRuntime> = { log: ({ level, text }) => this.#options.print(level, text) };
    for (const message of messages) handleMessage({ ...log, ...this.#work?.handlers }, message);
  }
}

function startThread({ name, file, variables, settings }: EnvironmentOptions, port: MessagePort, sent: Int32Array) {
  const { memoryInMegabytes = memoryInMegabytesDefault, imports = [] } = settings;
  const { NODE_COMPILE_CACHE: compileCache } = process.env;
  return new Worker(new URL("runtime.ts", import.meta.url), {
    name: "lambda",
    workerData: { port, sent, isDebugged, name, file, imports, memoryInMegabytes } satisfies Start,
    transferList: [port],
    env: {
      // Where Node keeps compiled code, if this process has such a folder.
      ...(compileCache && { NODE_COMPILE_CACHE: compileCache }),
      ...variables,
      ...settings.variables,
      AWS_LAMBDA_FUNCTION_NAME: name,
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryInMegabytes),
    },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryInMegabytes, maxYoungGenerationSizeMb: youngGenerationInMegabytes },
  });
}
