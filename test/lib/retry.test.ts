import { describe, expect, it } from "vitest";
import { type Attempt, deadlineOf, isFault, persist, Unavailable } from "../../lib/retry.ts";

const broken = () => Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
const throttled = () => Object.assign(new Error("Rate exceeded"), { name: "ThrottlingException" });
const answered = (httpStatusCode: number, name = "Error") =>
  Object.assign(new Error(name), { name, code: name, $metadata: { httpStatusCode } });

const soon = (milliseconds: number) => Date.now() + milliseconds;

/** Fails so many times before it succeeds; remembers when it was called. */
function failing(times: number, error: () => Error) {
  const calls: number[] = [];
  const send = async () => {
    calls.push(Date.now());
    if (calls.length <= times) throw error();
    return "answer";
  };
  const pauses = () => calls.slice(1).map((call, place) => call - (calls[place] ?? 0));
  return { send, calls, pauses };
}

describe("persist", () => {
  it("goes on at once after the first broken connection, and then takes its time", async () => {
    const { send, pauses } = failing(6, broken);

    expect(await persist(send, isFault, soon(5_000))).toBe("answer");
    const [first = 0, , , , , last = 0] = pauses();
    expect(first).toBeLessThan(10);
    expect(last).toBeGreaterThanOrEqual(320);
  });

  it("takes its time from the first on where the service asks for it", async () => {
    const { send, pauses } = failing(1, throttled);

    await persist(send, isFault, soon(1_000));
    expect(pauses()[0]).toBeGreaterThanOrEqual(9);
  });

  it("throws at once what does not pass", async () => {
    const { send, calls } = failing(1, () => answered(400, "ValidationException"));

    await expect(persist(send, isFault, soon(1_000))).rejects.toThrow("ValidationException");
    expect(calls).toHaveLength(1);
  });

  it("leaves it to the client to end an attempt while there is time enough", async () => {
    const given: unknown[] = [];
    const send = async (attempt?: Attempt) => given.push(attempt);

    await persist(send, isFault, soon(20_000));
    await persist(send, isFault, soon(10_000));

    expect(given).toEqual([undefined, { abortSignal: expect.any(AbortSignal) }]);
  });

  it("ends with the deadline, and says what was wrong", async () => {
    const deadline = soon(300);
    const { send } = failing(99, throttled);

    await expect(persist(send, isFault, deadline)).rejects.toThrow(
      new Unavailable("No answer in time: ThrottlingException: Rate exceeded"),
    );
    expect(Date.now()).toBeLessThan(deadline + 50);
  });

  it("ends an attempt with the deadline, and begins none after it", async () => {
    let attempts = 0;
    const swallowed = (attempt?: Attempt) =>
      new Promise<never>((_, reject) => {
        attempts += 1;
        attempt?.abortSignal.addEventListener("abort", () =>
          reject(Object.assign(new Error(), { name: "AbortError" })),
        );
      });

    const start = Date.now();
    await expect(persist(swallowed, isFault, soon(100))).rejects.toThrow(Unavailable);
    expect(Date.now() - start).toBeLessThan(1_000);
    await expect(persist(swallowed, isFault, soon(-1))).rejects.toThrow(Unavailable);
    expect(attempts).toBe(1);
  });
});

describe("deadlineOf", () => {
  it.each([
    ["a function that streams", 900_000, 24_000],
    ["a function behind API Gateway", 29_000, 24_000],
    ["a function that began late", 15_000, 10_000],
  ])("leaves %s time to answer", (_, left, expected) => {
    const deadline = deadlineOf({ getRemainingTimeInMillis: () => left }) - Date.now();

    expect(Math.abs(deadline - expected)).toBeLessThan(50);
  });
});

describe("isFault", () => {
  it.each([
    ["a refused connection", Object.assign(new Error(), { code: "ECONNREFUSED" })],
    ["a name that is not found for a moment", Object.assign(new Error(), { code: "EAI_AGAIN" })],
    ["an answer that is no HTTP", Object.assign(new Error(), { code: "HPE_INVALID_CONSTANT" })],
    ["an attempt that took too long", Object.assign(new Error(), { name: "AbortError" })],
    ["an answer that cannot be read", Object.assign(new SyntaxError(), { $metadata: { httpStatusCode: 200 } })],
    ["a refusal that breaks off", Object.assign(answered(400), { code: "ECONNRESET" })],
    ["503 of S3", answered(503, "SlowDown")],
    ["429", answered(429)],
    ["a request that S3 waited for", answered(400, "RequestTimeout")],
  ])("is %s", (_, error) => {
    expect(isFault(error)).toBe(true);
  });

  it.each([
    ["403", answered(403, "AccessDenied")],
    ["an error whose name begins like a code", answered(400, "EntityTooLarge")],
    ["a mistake of ours", new TypeError("A statement cannot carry undefined")],
    ["a mistake that Node names", Object.assign(new TypeError(), { code: "ERR_INVALID_ARG_TYPE" })],
    ["missing credentials", Object.assign(new Error(), { name: "CredentialsProviderError" })],
    ["no error", "ECONNRESET"],
  ])("is not %s", (_, error) => {
    expect(isFault(error)).toBe(false);
  });
});
