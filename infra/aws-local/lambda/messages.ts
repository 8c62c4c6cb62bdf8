import type { MessagePort } from "node:worker_threads";
import type { Prelude } from "./stream.ts";

/** Lambda's response when a function fails. */
export interface FunctionError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}

/** What a runtime thread is started with. */
export interface Start {
  readonly port: MessagePort;
  /** 1 when an invocation was sent, for which the runtime waits; 0 when the runtime has begun it. */
  readonly sent: Int32Array;
  /** A debugger sets its breakpoints between invocations, so the runtime must not block its thread then. */
  readonly isDebugged: boolean;
  readonly name: string;
  /** The function's module. */
  readonly file: string;
  /** URLs of modules to import before it. */
  readonly imports: readonly string[];
  readonly memoryInMegabytes: number;
}

export interface Invoke {
  readonly requestId: string;
  /** As JSON, like the result. */
  readonly event: string;
  readonly timeoutInMilliseconds: number;
  /** Less than the timeout if the invocation has waited. */
  readonly remainingInMilliseconds: number;
  readonly responseBytes: number;
  readonly streamedBytes: number;
}

/** The messages to a runtime, with what each carries. */
export interface ToRuntime {
  readonly invoke: Invoke;
  /** The reader of a stream wants the next chunk. */
  readonly pull: undefined;
  /** The reader of a stream has closed it. */
  readonly abandon: undefined;
}

/** The messages from a runtime, with what each carries. */
export interface FromRuntime {
  readonly loaded: undefined;
  readonly log: { readonly level: LogLevel; readonly text: string };
  /** A buffered result, as JSON; nothing follows it. */
  readonly result: string;
  /** The beginning of a stream, its chunks, and its end. */
  readonly head: Prelude;
  readonly chunk: Uint8Array;
  readonly end: undefined;
  /** Loading, the function or its stream has failed. */
  readonly failed: FunctionError;
  /** After a failure, or when both the stream and its handler have ended. */
  readonly done: undefined;
}

/** One of the messages, as it is sent. */
export type Message<Messages> = {
  readonly [Kind in keyof Messages]: { readonly kind: Kind; readonly value: Messages[Kind] };
}[keyof Messages];

/** What is done with each kind of message; other kinds are ignored. */
export type Handlers<Messages> = { readonly [Kind in keyof Messages]?: (value: Messages[Kind]) => void };

export function handleMessage<Messages, Kind extends keyof Messages>(
  handlers: Handlers<Messages>,
  { kind, value }: { readonly kind: Kind; readonly value: Messages[Kind] },
): void {
  handlers[kind]?.(value);
}

export const logLevels = ["debug", "error", "info", "log", "warn"] as const;
export type LogLevel = (typeof logLevels)[number];

export function functionErrorOf(error: unknown): FunctionError {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: String(error), trace: [] };
  return { errorType: error.name, errorMessage: error.message, trace: error.stack?.split("\n") ?? [] };
}

export const responseTooLarge = (bytesMax: number): FunctionError => ({
  errorType: "Function.ResponseSizeTooLarge",
  errorMessage: `Response payload size exceeded maximum allowed payload size (${bytesMax} bytes).`,
});
