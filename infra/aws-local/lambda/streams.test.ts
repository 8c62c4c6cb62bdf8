import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { streaming } from "../test/functions.ts";
import { useLambda } from "../test/use-lambda.ts";
import type { LambdaOptions } from "./lambda.ts";

const head = { statusCode: 200, headers: { "Content-Type": "application/json" } };

const { built, start, logged } = useLambda({
  slow: streaming(`
      start(event).write("first ");
      await gate();
      stream.end();`),
  pour: streaming(`
      start();
      for (let written = 0; written < event.chunks; written += 1) {
        tell("chunk");
        if (!stream.write(Buffer.alloc(16_384, "x"))) await new Promise((done) => stream.once("drain", done));
      }
      stream.end();`),
  "fail-late": streaming(`start().write("first"); await gate(); throw new RangeError("too far");`),
  "fail-full": streaming(
    `start(); for (let n = 0; n < 20; n++) stream.write(Buffer.alloc(50_000)); throw new RangeError("too far");`,
  ),
  silent: streaming(`start(); stream.once("close", () => tell("closed")); await gate();`),
  "after-end": streaming(`start(); stream.end(); await gate(); throw new RangeError("too far");`),
  headless: streaming(`stream.once("close", () => tell("closed")); stream.write("x"); await gate(); stream.end();`),
  "fail-early": streaming(`throw new RangeError("too far");`),
  "never-started": streaming("stream.end();"),
  // The runtime's own \`end\` writes past the prelude.
  "end-with-chunk": streaming(`awslambda.HttpResponseStream.from(stream, { statusCode: 200 }); stream.end("text");`),
  "never-ended": streaming(`start().write("first");`),
  "long-head": streaming(`start({ statusCode: 200, headers: { long: "x".repeat(event.bytes) } }); stream.end();`),
  "no-object": streaming("start([]); stream.end();"),
  late: streaming(`start().write("text"); try { stream.setContentType("text/plain"); } finally { stream.end(); }`),
  binary: streaming("start(event).write(Buffer.from([0, 255, 254])); stream.end();"),
  buffered: "export const handler = async () => ({ statusCode: 200 });",
});

/** The body of a stream that has begun. */
async function bodyOf(name: string, event: unknown = {}, options: Partial<LambdaOptions> = {}): Promise<Readable> {
  const invocation = await (await start(options)).stream(name, event);
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.body;
}

describe("a streaming function", () => {
  it("gives its head, then its body as it is written", async () => {
    const release = built.newGate();

    const invocation = await (await start()).stream("slow", head);

    if ("error" in invocation) throw new Error(invocation.error.errorMessage);
    expect(invocation.head).toEqual(head);
    const [first] = await invocation.body.take(1).toArray();
    expect(String(first)).toBe("first ");
    release();
  });

  it("waits for its reader", async () => {
    const body = await bodyOf("pour", { chunks: 1_000 });
    await sleep(50);
    expect(built.seen().length).toBeLessThan(20);

    let bytes = 0;
    for await (const chunk of body) bytes += chunk.length;

    expect(bytes).toBe(1_000 * 16_384);
  });

  it("gets an error when its reader disconnects, also while it does not write, which is not logged", async () => {
    const release = built.newGate();
    const body = await bodyOf("silent");
    body.resume();
    await sleep(10);

    body.destroy();

    await expect.poll(() => built.seen()).toEqual(["closed"]);
    release();
    await sleep(20);
    expect(logged()).toBe("");
  });
});

describe("a streaming function that fails", () => {
  it("is an error if it fails before its head", async () => {
    const invocation = await (await start()).stream("fail-early", {});

    expect(invocation).toMatchObject({ error: { errorType: "RangeError", errorMessage: "too far" } });
    expect(console.error).toHaveBeenCalledOnce();
  });

  it("breaks its body afterwards", async () => {
    const release = built.newGate();
    const body = await bodyOf("fail-late");

    release();

    await expect(text(body)).rejects.toThrow("too far");
    expect(logged()).toContain("too far");
  });

  it("has delivered what it wrote before", async () => {
    const body = await bodyOf("fail-full");
    await sleep(20);

    let bytes = 0;
    const read = body.forEach((chunk) => {
      bytes += chunk.length;
    });
    await expect(read).rejects.toThrow("too far");
    expect(bytes).toBe(1_000_000);
  });

  it("is logged also after its end", async () => {
    const release = built.newGate();
    await text(await bodyOf("after-end"));

    release();

    await expect.poll(() => logged()).toContain("too far");
  });

  it.each<[string, string, object, Partial<LambdaOptions>]>([
    ["Response stream is not finished.", "never-ended", {}, {}],
    ["Task timed out after 0.50 seconds", "slow", head, { settingsOf: () => ({ timeoutInMilliseconds: 500 }) }],
    ["maximum allowed payload size (65536 bytes)", "pour", { chunks: 5 }, { limits: { streamedBytes: 65_536 } }],
  ])("breaks its body: %s", async (message, name, event, options) => {
    built.newGate();

    await expect(text(await bodyOf(name, event, options))).rejects.toThrow(message);
  });

  it.each([
    ["never-started", {}],
    ["end-with-chunk", {}],
    ["no-object", {}],
    ["buffered", {}],
    ["long-head", { bytes: 16_384 }],
  ])("is an error without metadata of at most 16 KB: %s", async (name, event) => {
    expect(await (await start()).stream(name, event)).toHaveProperty("error");
  });

  it("is an error as soon as it writes without metadata", async () => {
    const release = built.newGate();

    expect(await (await start()).stream("headless", {})).toHaveProperty("error");
    await expect.poll(() => built.seen()).toEqual(["closed"]);
    release();
    expect(await (await start()).stream("long-head", { bytes: 16_000 })).toHaveProperty("head");
  });

  it("cannot set its content type once it has written", async () => {
    await expect(text(await bodyOf("late"))).resolves.toBe("text");
    expect(logged()).toContain("Cannot set content-type, too late.");
  });
});

describe("a streaming function that is invoked without streaming", () => {
  it.each([
    ["slow", { body: "first ", isBase64Encoded: false }],
    ["binary", { body: "AP/+", isBase64Encoded: true }],
  ])("is collected into a REST result, in base64 where it is not text: %s", async (name, result) => {
    built.newGate()();

    expect(await (await start()).invoke(name, head)).toEqual({ result: { ...head, ...result } });
  });

  it("is an error when it fails on the way", async () => {
    built.newGate()();

    expect(await (await start()).invoke("fail-late", {})).toMatchObject({ error: { errorType: "RangeError" } });
  });
});
