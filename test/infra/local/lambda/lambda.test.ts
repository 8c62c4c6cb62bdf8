import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { startLambda } from "../../../../infra/aws-local/lambda/lambda.ts";
import { RequestTooLarge } from "../../../../infra/aws-local/lambda/refusals.ts";
import { writeFunctions } from "../fixtures.ts";

let built: Awaited<ReturnType<typeof writeFunctions>>;
const start = (limits = {}) => startLambda({ outdir: built.outdir, limits });

beforeAll(async () => {
  built = await writeFunctions({
    "things/list": "tell('loaded'); export const handler = async () => null;",
    "things/echo": "export const handler = async (event) => event;",
    "things/context": `export const handler = async (event, context) => {
      const before = context.getRemainingTimeInMillis();
      await new Promise((done) => setTimeout(done, 20));
      return { ...context, before, after: context.getRemainingTimeInMillis() };
    };`,
    "things/remaining": `export const handler = async (event, context) => {
      await gate();
      return context.getRemainingTimeInMillis();
    };`,
    "things/change": "export const handler = async (event) => { event.changed = true; };",
    "things/date": "export const handler = async () => ({ at: new Date(0), gone: undefined });",
    "things/large": "export const handler = async ({ bytes }) => 'x'.repeat(bytes - 2);",
    "things/fail": "export const handler = async () => { throw new RangeError('too far'); };",
    "things/fail-early": "export const handler = () => { throw new TypeError('at once'); };",
    "things/throw-text": "export const handler = async () => { throw 'just text'; };",
    "things/wait": "export const handler = async () => { await gate(); return 'late'; };",
    "ops/wait": "export const handler = async () => { await gate(); return 'late'; };",
    "things/broken": "throw new Error('cannot load');",
    "things/empty": "export const handle = async () => {};",
  });
});

afterAll(() => built.remove());

let log: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  built.forget();
  log = vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("invoking a function", () => {
  it("names functions after their file", async () => {
    const { names } = await start();

    expect([...names].sort()).toContain("things-list");
    expect(names.has("ops-wait")).toBe(true);
    expect(names.size).toBe(14);
  });

  it("loads it when it is first invoked, and once", async () => {
    const lambda = await start();
    expect(built.seen()).toEqual([]);

    await lambda.invoke("things-list", {});
    await lambda.invoke("things-list", {});

    expect(built.seen()).toEqual(["loaded"]);
  });

  it("gives it a copy of the event", async () => {
    const event = { changed: false };

    await (await start()).invoke("things-change", event);

    expect(event).toEqual({ changed: false });
  });

  it("gives it Lambda's context", async () => {
    const lambda = await start();
    await lambda.invoke("things-context", {});

    const invocation = await lambda.invoke("things-context", {});

    const context = "result" in invocation ? (invocation.result as Record<string, number>) : {};
    expect(context).toMatchObject({
      functionName: "things-context",
      functionVersion: "$LATEST",
      memoryLimitInMB: "1024",
      awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      invokedFunctionArn: expect.stringMatching(/^arn:aws:lambda:[\w-]+:123456789012:function:things-context$/),
    });
    expect(context.before).toBeGreaterThan(28_000);
    expect(context.before).toBeLessThanOrEqual(29_000);
    expect((context.before ?? 0) - (context.after ?? 0)).toBeGreaterThanOrEqual(15);
  });

  it("tells it how much is left of API Gateway's 29 s when it has waited for another invocation", async () => {
    const lambda = await start({ environments: 1 });
    const release = built.newGate();

    const first = lambda.invoke("things-remaining", {});
    const second = lambda.invoke("things-remaining", {});
    await sleep(300);
    release();

    expect(await first).toHaveProperty("result");
    const invocation = await second;
    expect("result" in invocation && invocation.result).toBeLessThanOrEqual(28_700);
  });

  it("passes events and results on as JSON", async () => {
    const lambda = await start();

    expect(await lambda.invoke("things-date", {})).toEqual({ result: { at: "1970-01-01T00:00:00.000Z" } });
    expect(await lambda.invoke("things-change", {})).toEqual({ result: null });
    expect(await lambda.invoke("things-echo", "text")).toEqual({ result: "text" });
  });
});

describe("a function that fails", () => {
  it.each([
    ["things-fail", { errorType: "RangeError", errorMessage: "too far" }],
    ["things-fail-early", { errorType: "TypeError", errorMessage: "at once" }],
    ["things-throw-text", { errorType: "string", errorMessage: "just text" }],
    ["things-broken", { errorType: "Error", errorMessage: "cannot load" }],
    ["things-empty", { errorType: "Runtime.HandlerNotFound" }],
    ["things-nowhere", { errorType: "ResourceNotFoundException" }],
  ])("is answered and logged as Lambda does: %s", async (name, error) => {
    const invocation = await (await start()).invoke(name, { secret: "token" });

    expect(invocation).toMatchObject({ error: { ...error, trace: expect.any(Array) } });
    expect(log.mock.calls.flat().join()).toContain(error.errorType);
    expect(log.mock.calls.flat().join()).not.toContain("token");
  });

  it("is ended after its timeout", async () => {
    const release = built.newGate();

    const invocation = await (await start({ timeoutInMilliseconds: 30 })).invoke("things-wait", {});

    expect(invocation).toMatchObject({
      error: {
        errorType: "Sandbox.Timedout",
        errorMessage: expect.stringMatching(/^RequestId: \S+ Error: Task timed out after 0\.03 seconds$/),
      },
    });
    release();
  });

  it("has a longer timeout if it is an operators' function", async () => {
    const release = built.newGate();
    setTimeout(release, 60);

    const invocation = await (await start({ timeoutInMilliseconds: 20 })).invoke("ops-wait", {});

    expect(invocation).toEqual({ result: "late" });
  });
});

describe("Lambda's limits", () => {
  const requestBytes = 6_291_456;
  const responseBytes = 6_291_556;

  it("are 6 MB for an event", async () => {
    const lambda = await start({ responseBytes: 2 * requestBytes });
    const event = (bytes: number) => "x".repeat(bytes - 2);

    expect(await lambda.invoke("things-echo", event(requestBytes))).toHaveProperty("result");
    await expect(lambda.invoke("things-echo", event(requestBytes + 1))).rejects.toThrow(RequestTooLarge);
    await expect(lambda.stream("things-echo", event(requestBytes + 1))).rejects.toThrow(RequestTooLarge);
  });

  it("count bytes, not characters", async () => {
    const lambda = await start({ requestBytes: 10, responseBytes: 10 });

    expect(await lambda.invoke("things-echo", "12345678")).toEqual({ result: "12345678" });
    await expect(lambda.invoke("things-echo", "éééééé")).rejects.toThrow(RequestTooLarge);
  });

  it("are 6 MB for a result", async () => {
    const lambda = await start();

    expect(await lambda.invoke("things-large", { bytes: responseBytes })).toHaveProperty("result");
    expect(await lambda.invoke("things-large", { bytes: responseBytes + 1 })).toMatchObject({
      error: {
        errorType: "Function.ResponseSizeTooLarge",
        errorMessage: "Response payload size exceeded maximum allowed payload size (6291556 bytes).",
      },
    });
  });
});
