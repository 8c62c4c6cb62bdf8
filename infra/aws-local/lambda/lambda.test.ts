import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { buffered } from "../test/functions.ts";
import { useLambda } from "../test/use-lambda.ts";
import type { Lambda } from "./lambda.ts";
import { RequestTooLarge } from "./refusals.ts";

const { built, start, logged } = useLambda({
  "things/list": `tell("loaded"); ${buffered("return null;")}`,
  echo: buffered("return event;"),
  context: buffered(`
      const before = context.getRemainingTimeInMillis();
      await new Promise((done) => setTimeout(done, 20));
      return { ...context, before, after: context.getRemainingTimeInMillis() };`),
  remaining: buffered("await gate(); return context.getRemainingTimeInMillis();"),
  change: buffered("event.changed = true;"),
  date: buffered("return { at: new Date(0), gone: undefined };"),
  large: buffered('return "x".repeat(event.bytes - 2);'),
  fail: buffered('throw new RangeError("too far");'),
  "fail-early": 'export const handler = () => { throw new TypeError("at once"); };',
  "throw-text": buffered('throw "just text";'),
  broken: 'throw new Error("cannot load");',
  empty: "export const handle = async () => {};",
  variables: `const { SHARED, OWN } = process.env; ${buffered('process.env.LEAKED = "yes"; return [SHARED, OWN];')}`,
});

let lambda: Lambda;
beforeAll(async () => {
  lambda = await start();
});

describe("A function", () => {
  it("is named after its folder, and loaded when it is first invoked, and once", async () => {
    expect([...lambda.names]).toContain("things-list");
    expect(built.seen()).toEqual([]);

    await lambda.invoke("things-list", {});
    await lambda.invoke("things-list", {});

    expect(built.seen()).toEqual(["loaded"]);
  });

  it.each([
    ["date", {}, { at: "1970-01-01T00:00:00.000Z" }],
    ["change", {}, null],
    ["echo", "text", "text"],
  ])("gets its event and gives its result as JSON: %s", async (name, event, result) => {
    expect(await lambda.invoke(name, event)).toEqual({ result });
    expect(event).not.toHaveProperty("changed");
  });

  it("gets Lambda's context", async () => {
    await lambda.invoke("context", {});

    const { result } = (await lambda.invoke("context", {})) as { result: { before: number; after: number } };

    expect(result).toMatchObject({
      functionName: "context",
      functionVersion: "$LATEST",
      memoryLimitInMB: "1024",
      awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      invokedFunctionArn: expect.stringMatching(/^arn:aws:lambda:[\w-]+:123456789012:function:context$/),
    });
    expect(result.before).toBeGreaterThan(28_000);
    expect(result.before).toBeLessThanOrEqual(29_000);
    expect(result.before - result.after).toBeGreaterThanOrEqual(15);
  });

  it.each([
    ["what is left of API Gateway's 29 s", undefined, 28_700],
    ["its own timeout, when API Gateway does not wait for it", 60_000, 60_000],
  ])("that has waited for another invocation is told %s", async (_, timeoutInMilliseconds, most) => {
    const settings = timeoutInMilliseconds ? { timeoutInMilliseconds } : {};
    const one = await start({ limits: { environments: 1 }, settingsOf: () => settings });
    const release = built.newGate();

    const first = one.invoke("remaining", {});
    const second = one.invoke("remaining", {});
    await sleep(300);
    release();

    expect(await first).toHaveProperty("result");
    const { result } = (await second) as { result: number };
    expect(result).toBeLessThanOrEqual(most);
    expect(result).toBeGreaterThan(most - 10_000);
  });

  it("has the variables of all functions when it is loaded and its own, and keeps changes to itself", async () => {
    const variables = { SHARED: "first", OWN: "shared" };
    const settingsOf = () => ({ variables: { OWN: "own" }, memoryInMegabytes: 256 });
    const configured = await start({ variables, settingsOf });

    expect(await configured.invoke("variables", {})).toEqual({ result: ["first", "own"] });
    variables.SHARED = "second";
    expect(await configured.invoke("variables", {})).toEqual({ result: ["first", "own"] });
    expect(await configured.invoke("context", {})).toMatchObject({ result: { memoryLimitInMB: "256" } });
    expect(process.env.LEAKED).toBe(undefined);
  });
});

describe("A function that fails", () => {
  it.each([
    ["fail", { errorType: "RangeError", errorMessage: "too far" }],
    ["fail-early", { errorType: "TypeError", errorMessage: "at once" }],
    ["throw-text", { errorType: "string", errorMessage: "just text" }],
    ["broken", { errorType: "Error", errorMessage: "cannot load" }],
    ["empty", { errorType: "Runtime.HandlerNotFound" }],
    ["nowhere", { errorType: "ResourceNotFoundException" }],
  ])("is answered and logged as Lambda does: %s", async (name, error) => {
    const invocation = await lambda.invoke(name, { secret: "token" });

    expect(invocation).toMatchObject({ error: { ...error, trace: expect.any(Array) } });
    expect(logged()).toContain(error.errorType);
    expect(logged()).not.toContain("token");
  });
});

describe("Lambda's limits", () => {
  const requestBytes = 6_291_456;
  const responseBytes = 6_291_556;

  it("are 6 MB for an event", async () => {
    const generous = await start({ limits: { responseBytes: 2 * requestBytes } });
    const event = (bytes: number) => "x".repeat(bytes - 2);

    expect(await generous.invoke("echo", event(requestBytes))).toHaveProperty("result");
    await expect(generous.invoke("echo", "é".repeat(requestBytes / 2))).rejects.toThrow(RequestTooLarge);
    await expect(generous.stream("echo", event(requestBytes + 1))).rejects.toThrow(RequestTooLarge);
  });

  it("are 6 MB for a result", async () => {
    expect(await lambda.invoke("large", { bytes: responseBytes })).toHaveProperty("result");
    expect(await lambda.invoke("large", { bytes: responseBytes + 1 })).toMatchObject({
      error: {
        errorType: "Function.ResponseSizeTooLarge",
        errorMessage: "Response payload size exceeded maximum allowed payload size (6291556 bytes).",
      },
    });
  });
});
