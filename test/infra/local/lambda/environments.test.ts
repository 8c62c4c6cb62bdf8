import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Failure } from "../../../../infra/aws-local/lambda/environment.ts";
import { type Lambda, type LambdaOptions, startLambda } from "../../../../infra/aws-local/lambda/lambda.ts";
import { streaming, writeFunctions } from "../fixtures.ts";

let built: Awaited<ReturnType<typeof writeFunctions>>;
const started: Lambda[] = [];

async function start(limits = {}, prepare?: LambdaOptions["prepare"]): Promise<Lambda> {
  const lambda = await startLambda({ outdir: built.outdir, limits, ...(prepare && { prepare }) });
  started.push(lambda);
  return lambda;
}

beforeAll(async () => {
  built = await writeFunctions({
    timer: `let fired; export const handler = async ({ set }) => {
      if (set) fired = new Promise((done) => setTimeout(() => done(tell("fired")), 30));
      else await fired;
    };`,
    promise: `let work; export const handler = async ({ begin }) => {
      if (begin) work = (async () => { for (let n = 0; n < 3; n++) { await new Promise((done) => setTimeout(done, 10)); tell(n); } })();
      else await work;
    };`,
    count: `let count = 0; export const handler = async ({ waits }) => { count += 1; if (waits) await gate(); return count; };`,
    exit: `let count = 0; export const handler = async ({ code }) => { if (code !== undefined) process.exit(code); return ++count; };`,
    loop: `let count = 0; export const handler = async ({ loops }) => { while (loops) count; return ++count; };`,
    "loop-at-once": "for (;;) ;",
    crash: `let count = 0; export const handler = async ({ crashes }) => {
      if (crashes) { setTimeout(() => { throw new RangeError("too far"); }, 5); await gate(); }
      return ++count;
    };`,
    reject: `export const handler = async () => { Promise.reject(new RangeError("unheard")); await gate(); };`,
    eat: "export const handler = async () => { const all = []; for (;;) all.push(new Array(1e6).fill(0.5)); };",
    throwing: `let count = 0; export const handler = async ({ fails }) => { count += 1; if (fails) throw new Error("no"); return count; };`,
    stuck: "export const handler = () => new Promise(() => {});",
    logs: `export const handler = async ({ lines }) => {
      for (let n = 0; n < lines; n++) console[n % 2 ? "error" : "log"]("line %d", n);
    };`,
    variables: `const { SEEN } = process.env; export const handler = async () => { process.env.LEAKED = "yes"; return SEEN; };`,
    decodes: `import sharp from "sharp";
      const blank = sharp({ create: { width: 1, height: 1, channels: 3, background: "#000" } });
      export const handler = async () => (await sharp(await blank.png().toBuffer()).metadata()).format;`,
    blocks: `import sharp from "sharp"; sharp.block({ operation: ["VipsForeignLoad"] }); export const handler = async () => "loaded";`,
    opens: `tell("opening"); await gate(); export const handler = async () => "opened";`,
    migrates: `export const handler = async () => { tell("migrated"); };`,
    "stream-timer": streaming("start(); stream.end(); setTimeout(() => tell('fired'), 30);"),
  });
});

afterAll(async () => {
  await Promise.all(started.map((lambda) => lambda.close()));
  await built.remove();
});

beforeEach(() => {
  built.forget();
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("An execution environment", () => {
  it("is frozen between invocations, and goes on with the next", async () => {
    const lambda = await start();

    await lambda.invoke("timer", { set: true });
    await sleep(150);
    expect(built.seen()).toEqual([]);

    await lambda.invoke("timer", {});
    expect(built.seen()).toEqual(["fired"]);
  });

  it("continues work that was not awaited in the next invocation", async () => {
    const lambda = await start();

    await lambda.invoke("promise", { begin: true });
    await sleep(150);
    expect(built.seen()).toEqual([]);

    await lambda.invoke("promise", {});
    expect(built.seen()).toEqual([0, 1, 2]);
  });

  it("is frozen after a stream, too", async () => {
    const lambda = await start();

    await lambda.invoke("stream-timer", {});
    await sleep(100);

    expect(built.seen()).toEqual([]);
  });

  it("is used again, also after its handler has thrown", async () => {
    const lambda = await start();

    expect(await lambda.invoke("throwing", {})).toEqual({ result: 1 });
    expect(await lambda.invoke("throwing", { fails: true })).toHaveProperty("error");
    expect(await lambda.invoke("throwing", {})).toEqual({ result: 3 });
  });

  it("serves one invocation at a time", async () => {
    const lambda = await start();
    const release = built.newGate();

    const first = lambda.invoke("count", { waits: true });
    await sleep(20);
    const second = await lambda.invoke("count", {});
    release();

    expect([await first, second]).toEqual([{ result: 1 }, { result: 1 }]);
  });

  it("is waited for, in order, while the maximum is in use", async () => {
    const lambda = await start({ environments: 1 });
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

    await lambda.provision("count", 0);
    expect(await lambda.invoke("count", {})).toEqual({ result: 1 });
  });

  it("ends soon if there are more than usual, and no invocation needs it", async () => {
    const alive = new Set<Worker>();
    const count = (worker: Worker) => {
      alive.add(worker);
      worker.once("exit", () => alive.delete(worker));
    };
    process.on("worker", count);
    const usual = availableParallelism() + 1;
    const lambda = await start({ environments: usual + 3 });
    const release = built.newGate();

    const all = Array.from({ length: usual + 3 }, () => lambda.invoke("count", { waits: true }));
    await expect.poll(() => alive.size).toBe(usual + 3);
    release();
    await Promise.all(all);

    await expect.poll(() => alive.size).toBe(usual);
    process.off("worker", count);
  });

  it("has the variables of the time when it was loaded, and keeps its own to itself", async () => {
    const lambda = await start();
    process.env.SEEN = "first";
    await lambda.invoke("variables", {});
    process.env.SEEN = "second";

    expect(await lambda.invoke("variables", {})).toEqual({ result: "first" });
    expect(await (await start()).invoke("variables", {})).toEqual({ result: "second" });
    expect(process.env.LEAKED).toBe(undefined);
    delete process.env.SEEN;
  });

  it("takes no format of images from other environments when it opens", async () => {
    const lambda = await start();

    expect(await lambda.invoke("decodes", {})).toEqual({ result: "png" });
    expect(await lambda.invoke("blocks", {})).toEqual({ result: "loaded" });
    expect(await lambda.invoke("decodes", {})).toEqual({ result: "png" });
  });

  it("passes on what its function writes to the console, in order and before the answer", async () => {
    const lines: string[] = [];
    const keep = (line: string) => void lines.push(line);
    const log = vi.spyOn(console, "log").mockImplementation(keep);
    vi.spyOn(console, "error").mockImplementation(keep);

    await (await start()).invoke("logs", { lines: 100 });

    expect(lines).toEqual(Array.from({ length: 100 }, (_, number) => `line ${number}`));
    log.mockRestore();
  });
});

describe("A function that changes while it opens", () => {
  it("is opened again, as often as it changes", async () => {
    const lambda = await start();
    const release = built.newGate();
    const invocation = lambda.invoke("opens", {});
    await expect.poll(() => built.seen()).toEqual(["opening"]);
    // After a second another environment may be opened for it, unless one is being opened.
    await sleep(1_100);

    await lambda.renew();
    await lambda.renew();
    release();

    expect(await invocation).toEqual({ result: "opened" });
    expect(built.seen()).toEqual(["opening", "opening"]);
  });

  it("is prepared again before it is loaded", async () => {
    const first = Promise.withResolvers<void>();
    const preparations: string[] = [];
    const lambda = await start({}, async (name) => {
      if (preparations.push(name) === 1) await first.promise;
    });
    built.newGate()();
    const invocation = lambda.invoke("opens", {});

    await lambda.renew();
    first.resolve();

    expect(await invocation).toEqual({ result: "opened" });
    expect(preparations).toEqual(["opens", "opens"]);
  });

  it("does not answer with an error of the earlier code", async () => {
    const first = Promise.withResolvers<void>();
    let isFirst = true;
    const lambda = await start({}, async () => {
      if (!isFirst) return;
      isFirst = false;
      await first.promise;
    });
    built.newGate()();
    const invocation = lambda.invoke("opens", {});

    await lambda.renew();
    first.reject(new Failure({ errorType: "BuildFailure", errorMessage: "broken" }));

    expect(await invocation).toEqual({ result: "opened" });
  });

  it("may wait for another function, however many others wait as well", async () => {
    const edited = Promise.withResolvers<void>();
    const migrated = edited.promise.then(() => lambda.invoke("migrates", {}));
    const lambda: Lambda = await start({}, async (name) => {
      if (name !== "migrates") await migrated;
    });
    const others = Array.from({ length: 3 * availableParallelism() }, () => lambda.invoke("throwing", {}));

    edited.resolve();

    for (const invocation of await Promise.all(others)) expect(invocation).toHaveProperty("result");
  });
});

describe("An execution environment that ends unexpectedly", () => {
  const error = (errorType: string, errorMessage: unknown) => ({ error: { errorType, errorMessage } });

  it.each([
    ["exit", { code: 3 }, "Runtime.ExitError", /^RequestId: \S+ Error: Runtime exited with error: exit status 3$/],
    ["exit", { code: 0 }, "Runtime.ExitError", /^RequestId: \S+ Error: Runtime exited without providing a reason$/],
    ["crash", { crashes: true }, "RangeError", /^too far$/],
    ["loop", { loops: true }, "Sandbox.Timedout", /^RequestId: \S+ Error: Task timed out after 3\.00 seconds$/],
  ])("fails that invocation, and the next has a new one: %s %j", async (name, event, type, message) => {
    const lambda = await start({ timeoutInMilliseconds: 3_000 });
    built.newGate();
    await lambda.invoke(name, {});

    expect(await lambda.invoke(name, event)).toMatchObject(error(type, expect.stringMatching(message)));
    expect(await lambda.invoke(name, {})).toEqual({ result: 1 });
  });

  it.each([
    ["reject", "RangeError", /^unheard$/],
    ["stuck", "Runtime.ExitError", /without providing a reason$/],
  ])("says why: %s", async (name, type, message) => {
    built.newGate();

    const invocation = await (await start()).invoke(name, {});

    expect(invocation).toMatchObject(error(type, expect.stringMatching(message)));
  });

  it("reports that it is out of memory, and other environments go on", async () => {
    const invocation = await (await start()).invoke("eat", {});

    expect(invocation).toMatchObject(error("Runtime.OutOfMemory", expect.stringContaining("signal: killed")));
  });

  it("is replaced by a new one for invocations that wait", async () => {
    const lambda = await start({ environments: 1 });

    const [, next] = await Promise.all([lambda.invoke("exit", { code: 1 }), lambda.invoke("exit", {})]);

    expect(next).toEqual({ result: 1 });
  });
});
