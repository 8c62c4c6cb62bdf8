import type { MessagePort } from "node:worker_threads";
import type { Prelude } from "./stream.ts";

/** Lambda's answer when a function fails. */
export interface FunctionError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}

/** The data that a runtime thread is started with. */
export interface Start {
  readonly port: MessagePort;
  /** Counts the invocations that were sent. The runtime waits until the count is higher than that of those it has taken. */
  readonly sent: Int32Array;
  /** A debugger sets its breakpoints between invocations, so the runtime must not block its thread then. */
  readonly isDebugged: boolean;
}

export interface Load {
  readonly kind: "load";
  readonly name: string;
  readonly file: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where compiled code is kept. */
  readonly compiled: string;
  readonly usesSharp: boolean;
}

export interface Invoke {
  readonly kind: "invoke";
  readonly requestId: string;
  /** As JSON, like the result. */
  readonly event: string;
  readonly timeoutInMilliseconds: number;
  /** What the function is told: less than its timeout if the invocation has waited. */
  readonly remainingInMilliseconds: number;
  readonly responseBytes: number;
  readonly streamedBytes: number;
}

/** The reader of a stream wants the next chunk, or has closed the stream. */
export interface Reading {
  readonly kind: "pull" | "abandon";
}

export type ToRuntime = Load | Invoke | Reading;

export type FromRuntime =
  | { readonly kind: "loaded"; readonly isStreaming: boolean }
  | { readonly kind: "log"; readonly level: LogLevel; readonly text: string }
  | { readonly kind: "result"; readonly text: string }
  | { readonly kind: "head"; readonly head: Prelude }
  | { readonly kind: "chunk"; readonly bytes: Uint8Array }
  | { readonly kind: "end" }
  /** `failed` before a result or head, `broken` within the stream, `failed-late` after it: that is only logged. */
  | { readonly kind: "failed" | "broken" | "failed-late"; readonly error: FunctionError }
  /** After a failure, or when both the stream and its handler have ended. */
  | { readonly kind: "done" };

export const logLevels = ["debug", "error", "info", "log", "warn"] as const;
export type LogLevel = (typeof logLevels)[number];

export function functionErrorOf(error: unknown): FunctionError {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: String(error), trace: [] };
  return { errorType: error.name, errorMessage: error.message, trace: error.stack?.split("\n") ?? [] };
}
