import module from "node:module";
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import { receiveMessageOnPort, workerData } from "node:worker_threads";
import { contextOf } from "./context.ts";
import {
  describe,
  type FromRuntime,
  type Invoke,
  type Load,
  logLevels,
  type Reading,
  type Start,
  type ToRuntime,
} from "./messages.ts";
import { isStreamingHandler, named, openResponse, provideAwsLambda, ResponseStream } from "./stream.ts";

type Handler = (event: unknown, ...rest: unknown[]) => unknown;

const { port, sent, isDebugged }: Start = workerData;
let taken = 0;
const received: ToRuntime[] = [];
/** Where the reader of a stream is heard. */
let hear = (_message: Reading): void => {};

const say = (message: FromRuntime) => port.postMessage(message);

/**
 * Stands still until there is something to do, as AWS freezes an environment: no timer fires meanwhile, and nothing
 * that was left running runs on.
 */
async function next(): Promise<Load | Invoke> {
  if (isDebugged) await somethingSent();
  else Atomics.wait(sent, 0, taken);
  for (;;) {
    const message: ToRuntime = received.shift() ?? receiveMessageOnPort(port)?.message;
    // What was meant for a stream that is over comes to nothing.
    if (message.kind !== "load" && message.kind !== "invoke") continue;
    taken += 1;
    return message;
  }
}

async function somethingSent(): Promise<void> {
  port.ref();
  await Atomics.waitAsync(sent, 0, taken).value;
  port.unref();
}

port.on("message", (message: ToRuntime) => {
  if (message.kind === "load" || message.kind === "invoke") received.push(message);
  else hear(message);
});
// A function that waits for nothing any more has come to its end.
port.unref();

/** What is due as the last invocation ends, such as giving its connection back, still happens. */
const settle = () => new Promise((done) => setImmediate(done));

async function load({ name, file, environment, compiled }: Load): Promise<(invoke: Invoke) => Promise<void>> {
  for (const key of Object.keys(process.env)) if (!(key in environment)) delete process.env[key];
  Object.assign(process.env, environment);
  module.enableCompileCache?.(compiled);
  const { handler } = await import(pathToFileURL(file).href);
  if (typeof handler !== "function")
    throw named("Runtime.HandlerNotFound", "index.handler is undefined or not exported");
  const isStreaming = isStreamingHandler(handler);
  say({ kind: "loaded", isStreaming });
  module.flushCompileCache?.();
  return (invoke) => (isStreaming ? stream(name, handler, invoke) : answer(name, handler, invoke));
}

async function answer(name: string, handler: Handler, invoke: Invoke): Promise<void> {
  try {
    const context = contextOf(name, invoke.timeoutInMilliseconds, invoke.requestId);
    const text = JSON.stringify(await handler(JSON.parse(invoke.event), context)) ?? "null";
    if (Buffer.byteLength(text) > invoke.responseBytes) throw tooLarge(invoke.responseBytes);
    say({ kind: "result", text });
  } catch (error) {
    say({ kind: "failed", error: describe(error) });
    say({ kind: "done" });
  }
}

const tooLarge = (bytesMax: number) =>
  named(
    "Function.ResponseSizeTooLarge",
    `Response payload size exceeded maximum allowed payload size (${bytesMax} bytes).`,
  );

/** Ends when both have come to their end, the stream and the handler. */
async function stream(name: string, handler: Handler, invoke: Invoke): Promise<void> {
  const context = contextOf(name, invoke.timeoutInMilliseconds, invoke.requestId);
  const stream = new ResponseStream(invoke.streamedBytes);
  const work = (async () => await handler(JSON.parse(invoke.event), stream, context))();
  work.then(
    () => stream.fail(new Error("Response stream is not finished.")),
    (error) => stream.fail(error instanceof Error ? error : new Error(String(error))),
  );
  let isOpen = false;
  try {
    const { head, content } = await openResponse(stream);
    isOpen = true;
    work.catch((error) => {
      if (!stream.isAbandoned) say({ kind: "failed-late", error: describe(error) });
    });
    const delivered = deliver(content, stream);
    say({ kind: "head", head });
    await delivered;
  } catch (error) {
    say({ kind: isOpen ? "broken" : "failed", error: describe(error) });
  }
  await work.catch(() => {});
  say({ kind: "done" });
}

/** Sends a chunk whenever the reader asks for one. Ends when there is no more, or nobody who reads. */
function deliver(content: AsyncGenerator<Buffer>, stream: ResponseStream): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  hear = ({ kind }) => {
    if (kind === "abandon") {
      stream.abandon();
      resolve();
    } else {
      content.next().then(({ done, value }) => (done ? resolve(say({ kind: "end" })) : sendChunk(value)), reject);
    }
  };
  port.ref();
  return promise.finally(() => {
    port.unref();
    hear = () => {};
  });
}

/** A copy: what it is cut from may be the function's, or hold much else. */
function sendChunk(chunk: Buffer): void {
  const bytes = new Uint8Array(chunk);
  port.postMessage({ kind: "chunk", bytes } satisfies FromRuntime, [bytes.buffer]);
}

for (const level of logLevels) console[level] = (...values) => say({ kind: "log", level, text: format(...values) });
// As NODE_OPTIONS says on AWS: stacks name the lines of the TypeScript.
process.setSourceMapsEnabled(true);
provideAwsLambda();
void serve();

async function serve(): Promise<void> {
  const loading = await next();
  if (loading.kind !== "load") throw new Error("A function is loaded before it is invoked");
  const run = await load(loading).catch((error) => say({ kind: "failed", error: describe(error) }));
  while (run) {
    await settle();
    const invoke = await next();
    if (invoke.kind === "invoke") await run(invoke);
  }
}
