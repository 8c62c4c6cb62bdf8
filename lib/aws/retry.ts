import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "aws-lambda";

/** A service sent no response before the deadline. The client should send its request again later. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
  /** Whether a change may have been made nevertheless, because the outcome of an attempt is not known. */
  readonly mayBeDone: boolean;

  constructor(cause: unknown, mayBeDone = false) {
    const [reason] = String(cause).split("\n");
    super(
      `No response in time${mayBeDone ? ", so the change may have been made, as ops/list-changes tells" : ""}: ${reason}`,
      { cause },
    );
    this.mayBeDone = mayBeDone;
  }
}

/*
 * Deadlines are times of `performance.now()`, in milliseconds: that clock is monotonic, whereas the time of day may be
 * set.
 */

/** How long the calls of a request may take. The reserve is for the work before the first call and after the last one. */
export type RequestTimeouts = Readonly<typeof usualTimeouts>;

/** API Gateway waits for 29 s. */
export const usualTimeouts = {
  timeoutInMilliseconds: 24_000,
  reserveInMilliseconds: 5_000,
  /** A connection that is silent for so long is dead. Three attempts fit into a request. */
  attemptInMilliseconds: 8_000,
};

/**
 * Of what visitors read: they have the response within 7 s. The edge waits for 8 s (infra/stacks/edge/edge.ts), and a
 * cold start comes before the first call.
 */
export const publicTimeouts: RequestTimeouts = {
  timeoutInMilliseconds: 6_500,
  reserveInMilliseconds: 1_500,
  /** With it the first attempt ends in time by itself, also if its response stops halfway. */
  attemptInMilliseconds: 3_400,
};

/** Of an operator, whose change may be a large one: the Data API ends a statement after 45 s. */
export const operatorTimeouts: RequestTimeouts = { ...usualTimeouts, timeoutInMilliseconds: 50_000 };

/** The deadline of a request that arrives now. */
export const deadlineFromNow = ({ timeoutInMilliseconds }: RequestTimeouts = usualTimeouts): number =>
  performance.now() + timeoutInMilliseconds;

/** The deadline of all calls that a request makes: before the client gives up, and before Lambda ends the function. */
export const deadlineOf = (
  context: Pick<Context, "getRemainingTimeInMillis">,
  timeouts: RequestTimeouts = usualTimeouts,
): number =>
  Math.min(
    deadlineFromNow(timeouts),
    performance.now() + context.getRemainingTimeInMillis() - timeouts.reserveInMilliseconds,
  );

/** The share of the time that an attempt may take, so that a dead connection leaves time for another attempt. */
const attemptShare = 0.6;
/** If a response stops halfway, the SDK's handler starts its timer only after so long. */
const timerDelayInMilliseconds = 3_000;

/** The time-outs of an SDK client. With these an attempt needs no abort signal, if there is enough time. */
export const timeouts = {
  connectionTimeout: 2_000,
  requestTimeout: usualTimeouts.attemptInMilliseconds,
  throwOnRequestTimeout: true,
  socketTimeout: usualTimeouts.attemptInMilliseconds,
} as const;

/** The options of an SDK client for one attempt. */
export interface AttemptOptions {
  readonly abortSignal: AbortSignal;
}

/**
 * Aborts an attempt after so long, or earlier if it takes longer than any attempt may. `AbortSignal.timeout` costs more,
 * and would go off after a response, too.
 */
export async function sendWithin<Output>(
  send: (options: AttemptOptions) => Promise<Output>,
  milliseconds: number,
): Promise<Output> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, Math.min(usualTimeouts.attemptInMilliseconds, milliseconds));
  return await send({ abortSignal: controller.signal }).finally(() => clearTimeout(timer));
}

const pauseMinInMilliseconds = 20;
const pauseMaxInMilliseconds = 2_000;

/**
 * Sends until there is a response. The same command may arrive more than once.
 * @param send makes one attempt. Without options it ends by the client's time-outs (see `timeouts`).
 * @param isTransient whether another attempt may succeed after this error; any other error is thrown
 * @param ownInMilliseconds the client's time-out of an attempt
 * @throws {Unavailable} when the deadline comes first
 */
export async function retry<Output>(
  send: (options?: AttemptOptions) => Promise<Output>,
  isTransient: (error: unknown) => boolean,
  deadline: number,
  ownInMilliseconds = usualTimeouts.attemptInMilliseconds,
): Promise<Output> {
  const shareInMilliseconds = attemptShare * (deadline - performance.now());
  let cause: unknown;
  let pause = 0;
  for (let failures = 1; ; failures++) {
    const remaining = deadline - performance.now() - pause;
    if (remaining <= 0) throw new Unavailable(cause);
    if (pause > 0) await sleep(pause);
    try {
      const endsByItself =
        ownInMilliseconds <= shareInMilliseconds && ownInMilliseconds + timerDelayInMilliseconds <= remaining;
      return await (endsByItself ? send() : sendWithin(send, Math.min(remaining, shareInMilliseconds)));
    } catch (error) {
      if (!isTransient(error)) throw error;
      cause = error;
      // After a freeze, Lambda's idle connections are closed, and a new connection works at once.
      pause = failures === 1 && isConnectionError(error) ? 0 : pauseAfter(failures);
    }
  }
}

/** Doubles with each failure. It is random, so that two requests that failed together do not return together. */
function pauseAfter(failures: number): number {
  const longest = Math.min(pauseMaxInMilliseconds, pauseMinInMilliseconds * 2 ** (failures - 1));
  return Math.round(longest * (0.5 + Math.random() / 2));
}

const throttles = new Set(["ThrottlingException", "TooManyRequestsException", "SlowDown", "RequestTimeout"]);

/**
 * Whether the service failed, is overloaded or cannot be reached, or this machine's clock is wrong. A response that breaks
 * off is an error with the status 200.
 */
export function isFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const status = statusOf(error);
  const failed = status === 200 || status === 429 || status >= 500;
  return failed || isConnectionError(error) || isClockError(error) || throttles.has(error.name);
}

/**
 * Whether the signature has the wrong time: after a freeze, the clock of a Lambda function may be minutes late. The SDK
 * takes the service's time from this response, and signs the next attempt by it.
 */
export const isClockError = ({ name, message }: Error): boolean =>
  name === "RequestTimeTooSkewed" ||
  (name === "InvalidSignatureException" && /^Signature (?:expired|not yet current)/.test(message));

/** The connection failed, or the attempt was aborted. Codes of programming errors begin with ERR_, or are the SDK's. */
function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === "TimeoutError" || error.name === "AbortError") return true;
  return "code" in error && /^(?:E(?!RR_)[A-Z]{2}|HPE_)/.test(String(error.code));
}

/** The status of the response, from the SDK's metadata; 0 if there was none. */
function statusOf(error: Error): number {
  const metadata: unknown = "$metadata" in error ? error.$metadata : undefined;
  const status = typeof metadata === "object" && metadata && "httpStatusCode" in metadata ? metadata.httpStatusCode : 0;
  return typeof status === "number" ? status : 0;
}
