import { describe, expect, it, vi } from "vitest";
import {
  type AttemptOptions,
  deadlineOf,
  isFault,
  publicTimeouts,
  retry,
  Unavailable,
} from "../../../lib/aws/retry.ts";

const broken = () => Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
const throttled = () => Object.assign(new Error("Rate exceeded"), { name: "ThrottlingException" });
const answered = (httpStatusCode: number, name = "Error") =>
  Object.assign(new Error(name), { name, code: name, $metadata: { httpStatusCode } });

const soon = (milliseconds: number) => performance.now() + milliseconds;

/** Fails so many times before it succeeds; remembers when it was called. */
function failing(times: number, error: () => Error) {
  const calls: number[] = [];
  const send = async () => {
    calls.push(Date.now());
    if (calls.length <= times) throw error();
    return "answer";
  };
  const pauses = () => calls.slice(1).map((call, index) => call - (calls[index] ?? 0));
  return { send, calls, pauses };
}

/** Tries until it succeeds once, since a machine that stands still is late for everything. */
const sometime = (attempt: () => Promise<void>) => vi.waitFor(attempt, { timeout: 30_000 });

describe("retry", () => {
  it("sends again at once after the first broken connection, and then pauses longer each time", async () => {
    await sometime(async () => {
      const { send, pauses } = failing(6, broken);

      expect(await retry(send, isFault, soon(10_000))).toBe("answer");
      const [first = 0, , , , , last = 0] = pauses();
      expect(first).toBeLessThan(10);
      expect(last).toBeGreaterThanOrEqual(319);
    });
  });

  it("pauses before the second attempt when the service throttles", async () => {
    const { send, pauses } = failing(1, throttled);

    await retry(send, isFault, soon(1_000));
    expect(pauses()[0]).toBeGreaterThanOrEqual(9);
  });

  it("throws an error that is not transient at once", async () => {
    const { send, calls } = failing(1, () => answered(400, "ValidationException"));

    await expect(retry(send, isFault, soon(1_000))).rejects.toThrow("ValidationException");
    expect(calls).toHaveLength(1);
  });

  it("leaves the time-out to the client while the deadline is far, and else gives an abort signal", async () => {
    const given: unknown[] = [];
    const send = async (options?: AttemptOptions) => given.push(options);

    await retry(send, isFault, soon(20_000));
    await retry(send, isFault, soon(10_000));

    expect(given).toEqual([undefined, { abortSignal: expect.any(AbortSignal) }]);
  });

  it("throws at the deadline, with the last error in its message", async () => {
    const message = "No response in time: ThrottlingException: Rate exceeded";

    await sometime(async () => {
      const deadline = soon(300);
      await expect(retry(failing(99, throttled).send, isFault, deadline)).rejects.toThrow(message);
      // It does not pause for an attempt that would come too late.
      expect(performance.now()).toBeLessThan(deadline);
    });
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

  it("aborts an attempt at the deadline", async () => {
    const unanswered = (options?: AttemptOptions) =>
      new Promise<never>((_, reject) => {
        options?.abortSignal.addEventListener("abort", () =>
          reject(Object.assign(new Error(), { name: "AbortError" })),
        );
      });

    const start = Date.now();
    await expect(retry(unanswered, isFault, soon(100))).rejects.toThrow(Unavailable);
    // The client itself would wait for 8 s.
    expect(Date.now() - start).toBeLessThan(4_000);
  });

  it("leaves time for a second attempt when the first one gets no answer", async () => {
    let calls = 0;
    const silentOnce = (options?: AttemptOptions) =>
      calls++ === 0
        ? new Promise<string>((_, reject) => {
            options?.abortSignal.addEventListener("abort", () =>
              reject(Object.assign(new Error(), { name: "AbortError" })),
            );
          })
        : Promise.resolve("answer");

    expect(await retry(silentOnce, isFault, soon(2_000))).toBe("answer");
  });

  it("begins no attempt after the deadline", async () => {
    const { send, calls } = failing(0, broken);

    await expect(retry(send, isFault, soon(-1))).rejects.toThrow(Unavailable);
    expect(calls).toEqual([]);
  });
});

describe("deadlineOf", () => {
  it.each([
    ["a function that streams", 900_000, 24_000],
    ["a function behind API Gateway", 29_000, 24_000],
    ["a function with little time left", 15_000, 10_000],
  ])("leaves %s time to answer", (_, remaining, expected) => {
    const deadline = deadlineOf({ getRemainingTimeInMillis: () => remaining }) - performance.now();

    expect(Math.abs(deadline - expected)).toBeLessThan(1_000);
  });

  it.each([
    ["that streams", 900_000],
    ["with the edge's 8 s", 8_000],
  ])("ends the calls of a public read within 7 s in a function %s", (_, remaining) => {
    vi.spyOn(performance, "now").mockReturnValue(1_000);

    const deadline = deadlineOf({ getRemainingTimeInMillis: () => remaining }, publicTimeouts);

    vi.mocked(performance.now).mockRestore();
    expect(deadline).toBe(7_500);
  });
});

describe("isFault", () => {
  it.each([
    ["a refused connection", Object.assign(new Error(), { code: "ECONNREFUSED" })],
    ["a DNS lookup that failed for a moment", Object.assign(new Error(), { code: "EAI_AGAIN" })],
    ["an answer that is not HTTP", Object.assign(new Error(), { code: "HPE_INVALID_CONSTANT" })],
    ["an attempt that took too long", Object.assign(new Error(), { name: "AbortError" })],
    ["an answer that cannot be read", Object.assign(new SyntaxError(), { $metadata: { httpStatusCode: 200 } })],
    ["an error answer that breaks off", Object.assign(answered(400), { code: "ECONNRESET" })],
    ["503 of S3", answered(503, "SlowDown")],
    ["429", answered(429)],
    ["a request that S3 received too slowly", answered(400, "RequestTimeout")],
  ])("is %s", (_, error) => {
    expect(isFault(error)).toBe(true);
  });

  it.each([
    ["403", answered(403, "AccessDenied")],
    ["an error whose name begins like a system error code", answered(400, "EntityTooLarge")],
    ["a programming error", new TypeError("A statement cannot carry undefined")],
    ["a programming error that Node reports", Object.assign(new TypeError(), { code: "ERR_INVALID_ARG_TYPE" })],
    ["missing credentials", Object.assign(new Error(), { name: "CredentialsProviderError" })],
    ["no error", "ECONNRESET"],
  ])("is not %s", (_, error) => {
    expect(isFault(error)).toBe(false);
  });
});
