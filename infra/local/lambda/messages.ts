import type { MessagePort } from "node:worker_threads";
import type { Prelude } from "./stream.ts";

/** What Lambda answers when a function fails. */
export interface FunctionError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}

/** What a runtime is started with. */
export interface Start {
  readonly port: MessagePort;
  /** Counts the invocations that were sent; the runtime stands still until it is further than what it has taken. */
  readonly sent: Int32Array;
  /** A debugger sets its breakpoints between invocations, so the runtime must not stand still. */
  readonly isDebugged: boolean;
}

export interface Load {
  readonly kind: "load";
  readonly name: string;
  readonly file: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where compiled code is kept. */
  readonly compiled: string;
}

export interface Invoke {
  readonly kind: "invoke";
  readonly requestId: string;
  /** As JSON, like the result. */
  readonly event: string;
  readonly timeoutInMilliseconds: number;
  readonly responseBytes: number;
  readonly streamedBytes: number;
}

/** A reader of the stream wants more, or has gone. */
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
  /** Before a result or head; or in the stream; or after all that, for the log only. */
  | { readonly kind: "failed" | "broken" | "failed-late"; readonly error: FunctionError }
  /** After a failure, or after a stream whose handler, too, has come to its end. */
  | { readonly kind: "done" };

export const logLevels = ["debug", "error", "info", "log", "warn"] as const;
export type LogLevel = (typeof logLevels)[number];

export function describe(error: unknown): FunctionError {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: String(error), trace: [] };
  return { errorType: error.name, errorMessage: error.message, trace: error.stack?.split("\n") ?? [] };
}
