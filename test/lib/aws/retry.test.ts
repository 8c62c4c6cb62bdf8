import { describe, expect, it, vi } from "vitest";
import {
  type AttemptOptions,
  deadlineOf,
  isFault,
  publicTimeouts,
  retry,
  Unavailable,
} from "../../../lib/aws/retry.ts";

const refused = (httpStatusCode: number, name = "Error") =>
  Object.assign(new Error(name), { name, code: name, $metadata: { httpStatusCode } });

const soon = (milliseconds: number) => performance.now() + milliseconds;

const fail = () => Promise.reject(Object.assign(new Error("Rate exceeded"), { name: "ThrottlingException" }));

/** Tries until it succeeds once, since a machine that stands still is late for everything. */
const sometime = (attempt: () => Promise<void>) => vi.waitFor(attempt, { timeout: 30_000 });

describe("retry", () => {
  it("throws at the deadline, with the last error in its message", async () => {
    const message = "No response in time: ThrottlingException: Rate exceeded";

    await sometime(async () => {
      const deadline = soon(300);
      await expect(retry(fail, isFault, deadline)).rejects.toThrow(message);
      // It does not pause for an attempt that would come too late.
      expect(performance.now()).toBeLessThan(deadline);
    });
    await expect(
      retry(async () => expect.fail(), isFault, soon(-1)),
      "without an attempt",
    ).rejects.toThrow(Unavailable);
  });

  it("says where to find whether the change was made, and of a long error its first line", () => {
    const { message } = new Unavailable(
      new Error("canceling statement\nPL/pgSQL function undo_changes\nat once"),
      true,
    );

    expect(message).toBe(
      "No response in time, so the change may have been made, as ops/list-changes tells: Error: canceling statement",
    );
  });

  it.each([
    {
      what: "no signal while the client's own time-out ends it in time",
      milliseconds: publicTimeouts.timeoutInMilliseconds,
      expected: false,
    },
    { what: "a signal when less time is left", milliseconds: publicTimeouts.attemptInMilliseconds, expected: true },
  ])("gives an attempt $what", async ({ milliseconds, expected }) => {
    // A machine may stand still between the deadline and the attempt.
    vi.spyOn(performance, "now").mockReturnValue(1_000);
    const send = async (options?: AttemptOptions) => options !== undefined;

    const hasSignal = retry(send, isFault, 1_000 + milliseconds, publicTimeouts.attemptInMilliseconds);

    vi.mocked(performance.now).mockRestore();
    expect(await hasSignal).toBe(expected);
  });

  it("aborts an attempt at the deadline, long before the client would", async () => {
    const silent = (options?: AttemptOptions) =>
      new Promise<never>((_, reject) => {
        const abortion = Object.assign(new Error(), { name: "AbortError" });
        options?.abortSignal.addEventListener("abort", () => reject(abortion));
      });

    const start = Date.now();
    await expect(retry(silent, isFault, soon(100))).rejects.toThrow(Unavailable);
    expect(Date.now() - start).toBeLessThan(4_000);
  });
});

describe("deadlineOf", () => {
  it.each([
    { what: "a function that streams", remaining: 900_000, expected: 24_000 },
    { what: "a function behind API Gateway", remaining: 29_000, expected: 24_000 },
    { what: "a function with little time left", remaining: 15_000, expected: 10_000 },
  ])("leaves $what time to respond", ({ remaining, expected }) => {
    const deadline = deadlineOf({ getRemainingTimeInMillis: () => remaining }) - performance.now();

    expect(Math.abs(deadline - expected)).toBeLessThan(1_000);
  });

  it.each([
    { what: "that streams", remaining: 900_000 },
    { what: "with the edge's 8 s", remaining: 8_000 },
  ])("ends the calls of a public read within 7 s in a function $what", ({ remaining }) => {
    vi.spyOn(performance, "now").mockReturnValue(1_000);

    const deadline = deadlineOf({ getRemainingTimeInMillis: () => remaining }, publicTimeouts);

    vi.mocked(performance.now).mockRestore();
    expect(deadline).toBe(7_500);
  });
});

const coded = (code: string, error = new Error()) => Object.assign(error, { code });
const named = (name: string) => Object.assign(new Error(), { name });

describe("isFault", () => {
  it.each([
    { what: "a refused connection", error: coded("ECONNREFUSED") },
    { what: "a DNS lookup that failed for a moment", error: coded("EAI_AGAIN") },
    { what: "a response that is not HTTP", error: coded("HPE_INVALID_CONSTANT") },
    { what: "an attempt that took too long", error: named("AbortError") },
    {
      what: "a response that cannot be read",
      error: Object.assign(new Error(), { $metadata: { httpStatusCode: 200 } }),
    },
    { what: "an error whose response breaks off", error: coded("ECONNRESET", refused(400)) },
    { what: "503 of S3", error: refused(503, "SlowDown") },
    { what: "429", error: refused(429) },
    { what: "a request that S3 received too slowly", error: refused(400, "RequestTimeout") },
  ])("is true for $what", ({ error }) => {
    expect(isFault(error)).toBe(true);
  });

  it.each([
    { what: "403", error: refused(403, "AccessDenied") },
    { what: "an error whose name begins like a system error code", error: refused(400, "EntityTooLarge") },
    { what: "a programming error", error: new TypeError("A statement cannot carry undefined") },
    { what: "a programming error that Node reports", error: coded("ERR_INVALID_ARG_TYPE", new TypeError()) },
    { what: "missing credentials", error: named("CredentialsProviderError") },
    { what: "no error", error: "ECONNRESET" },
  ])("is false for $what", ({ error }) => {
    expect(isFault(error)).toBe(false);
  });
});
