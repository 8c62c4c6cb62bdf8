import { type FunctionError, functionErrorOf } from "./messages.ts";

/** A function has failed. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly reason: FunctionError;

  constructor(reason: FunctionError) {
    super(reason.errorMessage);
    this.reason = reason;
  }
}

const timedOut = "Sandbox.Timedout";

export const timeoutError = (requestId: string, milliseconds: number): FunctionError => ({
  errorType: timedOut,
  errorMessage: `RequestId: ${requestId} Error: Task timed out after ${(milliseconds / 1000).toFixed(2)} seconds`,
});

export const loadingError = (name: string, milliseconds: number): FunctionError => ({
  errorType: timedOut,
  errorMessage: `The function ${name} was not loaded within ${milliseconds / 1000} seconds, because this machine is busy`,
});

export const hasTimedOut = (error: unknown): boolean => error instanceof Failure && error.reason.errorType === timedOut;

/** Lambda's error for an environment that has ended unexpectedly. */
export function exitError(requestId: string, code: number, cause: Error | undefined): FunctionError {
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
