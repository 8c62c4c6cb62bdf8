import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { buffered, streaming } from "../test/functions.ts";
import { useLambda } from "../test/use-lambda.ts";
import { Failure } from "./failure.ts";
import type { Lambda } from "./lambda.ts";
import { RequestTooLarge } from "./refusals.ts";
import type { LambdaLimits } from "./settings.ts";

/** A handler that counts its invocations in `count`, and gives their number. */
const counting = (body: string) => `let count = 0; ${buffered(`count += 1; ${body} return count;`)}`;

const { built, start, logged } = useLambda({
  echo: buffered("return event;"),
  context: buffered("return context;"),
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
  promise: `let work; ${buffered(`
      const pause = () => new Promise((done) => setTimeout(done, 50));
      if (event.begin) work = (async () => { for (let n = 0; n < 3; n++) { await pause(); tell(n); } })();
      else await work;`)}`,
  "stream-timer": streaming("start(); stream.end(); if (event.begin) setTimeout(() => tell('fired'), 100);"),
  count: counting(`
      if (event.waits) await gate();
      if (event.fails) throw new Error("no");
      if (event.code !== undefined) process.exit(event.code);
      while (event.loops) count;
      if (event.stuck) await new Promise(() => {});
      for (const all = []; event.eats; ) all.push(new Array(1e6).fill(0.5));
      if (event.crashes === "error") setTimeout(() => { throw new RangeError("too far"); }, 5);
      if (event.crashes === "rejection") Promise.reject(new RangeError("unheard"));
      if (event.crashes) await gate();`),
  logs: buffered(`for (let n = 0; n < event.lines; n++) console[n % 2 ? "error" : "log"]("line %d", n);`),
  crowd: `tell("opened"); ${buffered("if (event.waits) await gate();")}`,
  opens: `tell("opening"); await gate(); ${buffered('return "opened";')}`,
});

let lambda: Lambda;
beforeAll(async () => {
  lambda = await start();
});

describe("A function", () => {
  it.each([
    { name: "date", event: {}, result: { at: "1970-01-01T00:00:00.000Z" } },
    { name: "change", event: {}, result: null },
    { name: "echo", event: "text", result: "text" },
  ])("gets its event and gives its result as JSON: $name", async ({ name, event, result }) => {
    expect(await lambda.invoke(name, event)).toEqual({ result });
    expect(event).not.toHaveProperty("changed");
  });

  it("gets Lambda's context", async () => {
    const { result } = (await lambda.invoke("context", {})) as { result: object };

    expect(result).toMatchObject({
      functionName: "context",
      functionVersion: "$LATEST",
      memoryLimitInMB: "1024",
      awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      invokedFunctionArn: expect.stringMatching(/^arn:aws:lambda:[\w-]+:123456789012:function:context$/),
    });
  });

  it.each([
    { what: "what is left of API Gateway's 29 s", timeoutInMilliseconds: undefined, max: 28_700 },
    { what: "its own timeout, when API Gateway does not wait for it", timeoutInMilliseconds: 60_000, max: 60_000 },
  ])("that has waited for another invocation is told $what", async ({ timeoutInMilliseconds, max }) => {
    const settings = timeoutInMilliseconds ? { timeoutInMilliseconds } : {};
    const one = await start({ limits: { environments: 1 }, settingsOf: () => settings });
    const release = built.newGate();

    const first = one.invoke("remaining", {});
    const second = one.invoke("remaining", {});
    await sleep(300);
    release();

    expect(await first).toHaveProperty("result");
    const { result } = (await second) as { result: number };
    expect(result).toBeLessThanOrEqual(max);
    expect(result).toBeGreaterThan(max - 10_000);
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

it.each([
  { name: "fail", error: { errorType: "RangeError", errorMessage: "too far" } },
  { name: "fail-early", error: { errorType: "TypeError", errorMessage: "at once" } },
  { name: "throw-text", error: { errorType: "string", errorMessage: "just text" } },
  { name: "broken", error: { errorType: "Error", errorMessage: "cannot load" } },
  { name: "empty", error: { errorType: "Runtime.HandlerNotFound" } },
  { name: "nowhere", error: { errorType: "ResourceNotFoundException" } },
])("A function that fails is answered and logged as Lambda does: $name", async ({ name, error }) => {
  const invocation = await lambda.invoke(name, { secret: "token" });

  expect(invocation).toMatchObject({ error: { ...error, trace: expect.any(Array) } });
  expect(logged()).toContain(error.errorType);
  expect(logged()).not.toContain("token");
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

describe("An execution environment", () => {
  it.each([
    { name: "promise", told: [0, 1, 2] },
    { name: "stream-timer", told: ["fired"] },
  ])("is frozen between invocations, and goes on with the next: $name", async ({ name, told }) => {
    const lambda = await start();

    await lambda.invoke(name, { begin: true });
    await sleep(250);
    expect(built.seen()).toEqual([]);

    await lambda.invoke(name, {});
    await expect.poll(built.seen).toEqual(told);
  });

  it("is used again, also after its handler has thrown", async () => {
    const lambda = await start();

    expect(await lambda.invoke("count", {})).toEqual({ result: 1 });
    expect(await lambda.invoke("count", { fails: true })).toHaveProperty("error");
    expect(await lambda.invoke("count", {})).toEqual({ result: 3 });
  });

  it("is waited for, in order, while the maximum is in use", async () => {
    const lambda = await start({ limits: { environments: 1 } });
    const release = built.newGate();

    const all = [lambda.invoke("count", { waits: true }), lambda.invoke("count", {}), lambda.invoke("count", {})];
    await sleep(200);
    release();

    expect(await Promise.all(all)).toEqual([{ result: 1 }, { result: 2 }, { result: 3 }]);
  });

  it("can be provisioned", async () => {
    const lambda = await start();
    await lambda.provision("count", 3);
    const release = built.newGate();

    const all = [1, 2, 3].map(() => lambda.invoke("count", { waits: true }));
    await sleep(50);
    release();
    expect(await Promise.all(all)).toEqual([{ result: 1 }, { result: 1 }, { result: 1 }]);
  });

  it("passes on what its function writes to the console, in order and before the response", async () => {
    const lines: string[] = [];
    const keep = (line: string) => void lines.push(line);
    const log = vi.spyOn(console, "log").mockImplementation(keep);
    vi.spyOn(console, "error").mockImplementation(keep);

    await (await start()).invoke("logs", { lines: 100 });

    expect(lines).toEqual(Array.from({ length: 100 }, (_, number) => `line ${number}`));
    log.mockRestore();
  });
});

describe("Execution environments of a function", () => {
  const crowd = (lambda: Lambda, size = 16) =>
    Promise.all(Array.from({ length: size }, () => lambda.invoke("crowd", { waits: true })));
  /** Environments open in turn, so all that opened for earlier invocations have opened before this one. */
  const opened = async (lambda: Lambda) => {
    await lambda.invoke("count", {});
    return built.seen().length;
  };

  it.each<{ what: string; limits: Partial<LambdaLimits>; max: number }>([
    {
      what: "there are processors, however many invocations begin at once",
      limits: { longInMilliseconds: 60_000 },
      max: Math.min(availableParallelism(), 16),
    },
    { what: "the maximum, though invocations take long", limits: { environments: 3, longInMilliseconds: 1 }, max: 3 },
  ])("are as many as $what", async ({ limits, max }) => {
    const lambda = await start({ limits });
    const release = built.newGate();

    const all = crowd(lambda);

    await expect.poll(() => opened(lambda)).toBe(max);
    expect(await opened(lambda)).toBe(max);
    release();
    await all;
    expect(await opened(lambda)).toBe(max);
  });

  it("are more while invocations take long, so that they block no other one", async () => {
    const lambda = await start();
    const release = built.newGate();

    const all = crowd(lambda, availableParallelism() + 1);
    await lambda.invoke("crowd", {});

    release();
    await all;
  });
});

describe("A function that takes longer to load than Lambda allows at first", () => {
  const limits = { loadingInMilliseconds: 1 };

  it("is loaded again, within its own timeout", async () => {
    expect(await (await start({ limits })).invoke("count", {})).toEqual({ result: 1 });
  });

  it("fails with its name if that is too short as well", async () => {
    const lambda = await start({ limits, settingsOf: () => ({ timeoutInMilliseconds: 2 }) });

    const errorMessage = "The function count was not loaded within 0.002 seconds, because this machine is busy";
    expect(await lambda.invoke("count", {})).toMatchObject({ error: { errorType: "Sandbox.Timedout", errorMessage } });
  });
});

describe("A function that changes while it opens", () => {
  it.each([
    { what: "is prepared again before it is loaded", error: undefined },
    {
      what: "has no error of the earlier code",
      error: new Failure({ errorType: "BuildFailure", errorMessage: "broken" }),
    },
  ])("$what", async ({ error }) => {
    const first = Promise.withResolvers<void>();
    const preparations: string[] = [];
    const prepare = async (name: string): Promise<undefined> => {
      if (preparations.push(name) === 1) await first.promise;
    };
    const lambda = await start({ prepare });
    built.newGate()();
    const invocation = lambda.invoke("opens", {});

    await lambda.renew();
    if (error) first.reject(error);
    else first.resolve();

    expect(await invocation).toEqual({ result: "opened" });
    expect(preparations).toEqual(["opens", "opens"]);
  });

  it("may wait for another function, however many others wait as well", async () => {
    const edited = Promise.withResolvers<void>();
    const migrated = edited.promise.then(() => lambda.invoke("count", {}));
    const prepare = async (name: string): Promise<undefined> => {
      if (name !== "count") await migrated;
    };
    const lambda: Lambda = await start({ prepare });
    const others = Array.from({ length: 3 * availableParallelism() }, () => lambda.invoke("echo", {}));

    edited.resolve();

    for (const invocation of await Promise.all(others)) expect(invocation).toHaveProperty("result");
  });
});

describe("An execution environment that ends unexpectedly", () => {
  it.each([
    {
      how: "exits with a status",
      event: { code: 3 },
      errorType: "Runtime.ExitError",
      message: /^RequestId: \S+ Error: Runtime exited with error: exit status 3$/,
    },
    {
      how: "exits",
      event: { code: 0 },
      errorType: "Runtime.ExitError",
      message: /^RequestId: \S+ Error: Runtime exited without providing a reason$/,
    },
    {
      how: "throws outside of its handler",
      event: { crashes: "error" },
      errorType: "RangeError",
      message: /^too far$/,
    },
    { how: "leaves a rejection", event: { crashes: "rejection" }, errorType: "RangeError", message: /^unheard$/ },
    {
      how: "takes too long",
      event: { loops: true },
      errorType: "Sandbox.Timedout",
      message: /^RequestId: \S+ Error: Task timed out after 3\.00 seconds$/,
    },
    {
      how: "waits for nothing",
      event: { stuck: true },
      errorType: "Runtime.ExitError",
      message: /without providing a reason$/,
    },
    { how: "uses up its memory", event: { eats: true }, errorType: "Runtime.OutOfMemory", message: /signal: killed/ },
  ])(
    "fails that invocation when the function $how, and the next has a new one",
    async ({ event, errorType, message }) => {
      const limited = "loops" in event ? { timeoutInMilliseconds: 3_000 } : { memoryInMegabytes: 256 };
      const lambda = await start({ settingsOf: () => limited });
      built.newGate();
      await lambda.invoke("count", {});

      const error = { errorType, errorMessage: expect.stringMatching(message) };
      expect(await lambda.invoke("count", event)).toMatchObject({ error });
      expect(await lambda.invoke("count", {})).toEqual({ result: 1 });
    },
  );

  it("is replaced by a new one for invocations that wait", async () => {
    const lambda = await start({ limits: { environments: 1 } });

    const [, next] = await Promise.all([lambda.invoke("count", { code: 1 }), lambda.invoke("count", {})]);

    expect(next).toEqual({ result: 1 });
  });
});

it("An invocation that waits gets the environment that is opened for it, however long that takes", async () => {
  const gatewayInMilliseconds = 100;
  const prepare = () => sleep(5 * gatewayInMilliseconds, undefined);
  const lambda = await start({ prepare, limits: { gatewayInMilliseconds } });

  expect(await lambda.invoke("count", {})).toEqual({ result: 1 });
});
