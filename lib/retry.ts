import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "aws-lambda";

/** What was asked did not answer until the deadline, asleep, busy or out of reach: the client should come again later. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** API Gateway waits for 29 s; the rest is for what comes before the first call and after the last. */
const patienceInMilliseconds = 24_000;
const restInMilliseconds = 5_000;

/** When somebody who came just now stops waiting. */
export const patient = (): number => Date.now() + patienceInMilliseconds;

/** When a request's calls have to be done, all of them together: before the visitor goes and the function is ended. */
export const deadlineOf = (context: Pick<Context, "getRemainingTimeInMillis">): number =>
  Math.min(patient(), Date.now() + context.getRemainingTimeInMillis() - restInMilliseconds);

/** What hears nothing for so long will hear nothing any more; a second and a third attempt fit in. */
const attemptInMilliseconds = 8_000;
/** For what says nothing any more in the middle of an answer, the SDK's handler waits 3 s before it begins to count. */
const longestAttemptInMilliseconds = attemptInMilliseconds + 3_000;

/** How a client ends an attempt by itself, for which nobody has to listen to a signal. */
export const attempts = {
  connectionTimeout: 2_000,
  requestTimeout: attemptInMilliseconds,
  throwOnRequestTimeout: true,
  socketTimeout: attemptInMilliseconds,
} as const;

/** What ends an attempt. */
export interface Attempt {
  readonly abortSignal: AbortSignal;
}

/** Ends an attempt that would last too long, or longer than somebody waits. */
export const endedBy = (deadline: number): Attempt => ({
  abortSignal: AbortSignal.timeout(Math.max(0, Math.min(attemptInMilliseconds, deadline - Date.now()))),
});

const pauseMinInMilliseconds = 20;
const pauseMaxInMilliseconds = 2_000;

/**
 * Sends until there is an answer. Whatever is sent may arrive more than once.
 * @param send one attempt, which ends by itself (see `attempts`), unless it is given something that ends it earlier
 * @param mayPass whether a failure is worth another attempt
 * @throws {Unavailable} when the deadline comes first
 */
export async function persist<Output>(
  send: (attempt?: Attempt) => Promise<Output>,
  mayPass: (error: unknown) => boolean,
  deadline: number,
): Promise<Output> {
  let cause: unknown;
  let pause = 0;
  for (let failures = 1; ; failures++) {
    const left = deadline - Date.now() - pause;
    if (left <= 0) throw new Unavailable(`No answer in time: ${cause}`, { cause });
    if (pause > 0) await sleep(pause);
    try {
      return await send(left < longestAttemptInMilliseconds ? endedBy(deadline) : undefined);
    } catch (error) {
      if (!mayPass(error)) throw error;
      cause = error;
      // A frozen Lambda wakes up with connections that are gone, and a new one will do.
      pause = failures === 1 && isBroken(error) ? 0 : pauseAfter(failures);
    }
  }
}

/** Twice as long each time, and never the same for two who failed together. */
function pauseAfter(failures: number): number {
  const longest = Math.min(pauseMaxInMilliseconds, pauseMinInMilliseconds * 2 ** (failures - 1));
  return Math.round(longest * (0.5 + Math.random() / 2));
}

const throttles = new Set(["ThrottlingException", "TooManyRequestsException", "SlowDown", "RequestTimeout"]);

/**
 * The service failed, is overrun or out of reach: nobody knows whether it did what it was asked. An answer that breaks
 * off is an error with the status 200.
 */
export function isFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const status = statusOf(error);
  return isBroken(error) || status === 200 || status === 429 || status >= 500 || throttles.has(error.name);
}

/** The connection failed, or the attempt was ended; the codes of mistakes begin with ERR_, or are the SDK's names. */
function isBroken(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === "TimeoutError" || error.name === "AbortError") return true;
  return "code" in error && /^(?:E(?!RR_)[A-Z]{2}|HPE_)/.test(String(error.code));
}

/** What the SDK noted of the answer; 0 where there was none. */
function statusOf(error: Error): number {
  const metadata: unknown = "$metadata" in error ? error.$metadata : undefined;
  const status = typeof metadata === "object" && metadata && "httpStatusCode" in metadata ? metadata.httpStatusCode : 0;
  return typeof status === "number" ? status : 0;
}
