import module from "node:module";
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import { receiveMessageOnPort, workerData } from "node:worker_threads";
import { contextOf } from "./context.ts";
import {
  type FromRuntime,
  functionErrorOf,
  type Invoke,
  type Load,
  logLevels,
  type Reading,
  type Start,
  type ToRuntime,
} from "./messages.ts";
import { isStreamingHandler, openResponse, provideAwsLambda, ResponseStream, runtimeError } from "./stream.ts";

type Handler = (event: unknown, ...rest: unknown[]) => unknown;

const { port, sent, isDebugged }: Start = workerData;
let taken = 0;
const queue: ToRuntime[] = [];
/** Handles messages from the reader of the current stream. */
let handleReading = (_message: Reading): void => {};

const send = (message: FromRuntime) => port.postMessage(message);

/**
 * Blocks the thread until there is a message, as AWS freezes an environment: meanwhile no timer fires, and no work that
 * the function left running goes on.
 */
async function next(): Promise<Load | Invoke> {
  if (isDebugged) await messageSent();
  else Atomics.wait(sent, 0, taken);
  for (;;) {
    const message: ToRuntime = queue.shift() ?? receiveMessageOnPort(port)?.message;
    // A message for a stream that has ended is dropped.
    if (message.kind !== "load" && message.kind !== "invoke") continue;
    taken += 1;
    return message;
  }
}

async function messageSent(): Promise<void> {
  port.ref();
  await Atomics.waitAsync(sent, 0, taken).value;
  port.unref();
}

port.on("message", (message: ToRuntime) => {
  if (message.kind === "load" || message.kind === "invoke") queue.push(message);
  else handleReading(message);
});
// A function that waits for nothing has ended: the port must not keep the thread alive.
port.unref();

/** Lets callbacks run that are due when an invocation ends, such as the one that returns a connection to its pool. */
const nextTurn = () => new Promise((done) => setImmediate(done));

async function load({
  name,
  file,
  environment,
  compiled,
  usesSharp,
}: Load): Promise<(invoke: Invoke) => Promise<void>> {
  for (const key of Object.keys(process.env)) if (!(key in environment)) delete process.env[key];
  Object.assign(process.env, environment);
  module.enableCompileCache?.(compiled);
  if (usesSharp) await keepFormats();
  const { handler } = await import(pathToFileURL(file).href);
  if (typeof handler !== "function")
    throw runtimeError("Runtime.HandlerNotFound", "index.handler is undefined or not exported");
  const isStreaming = isStreamingHandler(handler);
  send({ kind: "loaded", isStreaming });
  module.flushCompileCache?.();
  return (invoke) => (isStreaming ? stream(name, handler, invoke) : answer(name, handler, invoke));
}

/**
 * Makes `sharp.block` do nothing. For a moment it would take all formats from the other threads, too, and the main
 * thread has already called it.
 */
async function keepFormats(): Promise<void> {
  const { default: sharp } = await import("sharp");
  Object.assign(sharp, { block: () => sharp });
}

async function answer(name: string, handler: Handler, invoke: Invoke): Promise<void> {
  try {
    const context = contextOf(name, invoke.remainingInMilliseconds, invoke.requestId);
    const text = JSON.stringify(await handler(JSON.parse(invoke.event), context)) ?? "null";
    if (Buffer.byteLength(text) > invoke.responseBytes) throw tooLarge(invoke.responseBytes);
    send({ kind: "result", text });
  } catch (error) {
    send({ kind: "failed", error: functionErrorOf(error) });
    send({ kind: "done" });
  }
}

const tooLarge = (bytesMax: number) =>
  runtimeError(
    "Function.ResponseSizeTooLarge",
    `Response payload size exceeded maximum allowed payload size (${bytesMax} bytes).`,
  );

/** Resolves when both the stream and the handler have ended. */
async function stream(name: string, handler: Handler, invoke: Invoke): Promise<void> {
  const context = contextOf(name, invoke.remainingInMilliseconds, invoke.requestId);
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
      if (!stream.isAbandoned) send({ kind: "failed-late", error: functionErrorOf(error) });
    });
    const delivered = deliver(content, stream);
    send({ kind: "head", head });
    await delivered;
  } catch (error) {
    send({ kind: isOpen ? "broken" : "failed", error: functionErrorOf(error) });
  }
  await work.catch(() => {});
  send({ kind: "done" });
}

/**
 * Sends a chunk whenever the reader asks for one. Ends with the last chunk, or when the reader has closed the stream, or
 * when the function destroys it: then the environment does not wait for a reader who asks for nothing.
 */
function deliver(content: AsyncGenerator<Buffer>, stream: ResponseStream): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stream.once("error", reject);
  handleReading = ({ kind }) => {
    if (kind === "abandon") {
      stream.abandon();
      resolve();
    } else {
      content.next().then(({ done, value }) => (done ? resolve(send({ kind: "end" })) : sendChunk(value)), reject);
    }
  };
  port.ref();
  return promise.finally(() => {
    port.unref();
    handleReading = () => {};
  });
}

/** Transfers a copy: the chunk's memory may be shared with other buffers of the function. */
function sendChunk(chunk: Buffer): void {
  const bytes = new Uint8Array(chunk);
  port.postMessage({ kind: "chunk", bytes } satisfies FromRuntime, [bytes.buffer]);
}

for (const level of logLevels) console[level] = (...values) => send({ kind: "log", level, text: format(...values) });
// As NODE_OPTIONS does on AWS: stack traces have the line numbers of the TypeScript files.
process.setSourceMapsEnabled(true);
provideAwsLambda();
void serve();

async function serve(): Promise<void> {
  const loading = await next();
  if (loading.kind !== "load") throw new Error("A function is loaded before it is invoked");
  const run = await load(loading).catch((error) => send({ kind: "failed", error: functionErrorOf(error) }));
  while (run) {
    await nextTurn();
    const invoke = await next();
    if (invoke.kind === "invoke") await run(invoke);
  }
}
