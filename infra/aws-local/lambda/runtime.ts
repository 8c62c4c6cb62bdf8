import { pathToFileURL } from "node:url";
import { format } from "node:util";
import { receiveMessageOnPort, workerData } from "node:worker_threads";
import { contextOf } from "./context.ts";
import {
  type FromRuntime,
  functionErrorOf,
  type Handlers,
  handleMessage,
  type Invoke,
  logLevels,
  type Message,
  type Start,
  type ToRuntime,
} from "./messages.ts";
import { isStreamingHandler, openResponse, provideAwsLambda, ResponseStream, runtimeError } from "./stream.ts";

type Handler = (event: unknown, ...rest: unknown[]) => unknown;

const { port, sent, isDebugged, name, file, imports, memoryInMegabytes }: Start = workerData;
let taken = 0;
const invocations: Invoke[] = [];
const takeInvocation = (invoke: Invoke) => void invocations.push(invoke);
/** A message for a stream that has ended is ignored. */
let handlers: Handlers<ToRuntime> = { invoke: takeInvocation };

const send = <Kind extends keyof FromRuntime>(kind: Kind, value: FromRuntime[Kind], transferred: ArrayBuffer[] = []) =>
  port.postMessage({ kind, value }, transferred);

const receive = (message: Message<ToRuntime>) => handleMessage(handlers, message);

/**
 * Blocks the thread until there is an invocation, as AWS freezes an environment: meanwhile no timer fires, and no work
 * that the function left running goes on.
 */
async function nextInvocation(): Promise<Invoke> {
  if (isDebugged) await isSent();
  else Atomics.wait(sent, 0, taken);
  for (;;) {
    const invoke = invocations.shift();
    if (!invoke) {
      receive(receiveMessageOnPort(port)?.message);
      continue;
    }
    taken += 1;
    return invoke;
  }
}

async function isSent(): Promise<void> {
  port.ref();
  await Atomics.waitAsync(sent, 0, taken).value;
  port.unref();
}

port.on("message", receive);
// A function that waits for nothing has ended: the port must not keep the thread alive.
port.unref();

/** Lets callbacks run that are due when an invocation ends, such as the one that returns a connection to its pool. */
const nextTurn = () => new Promise((done) => setImmediate(done));

async function load(): Promise<(invoke: Invoke) => Promise<void>> {
  for (const each of imports) await import(each);
  const { handler } = await import(pathToFileURL(file).href);
  if (typeof handler !== "function")
    throw runtimeError("Runtime.HandlerNotFound", "index.handler is undefined or not exported");
  send("loaded", undefined);
  const run = isStreamingHandler(handler) ? stream : answer;
  return (invoke) => run(handler, invoke);
}

const contextFor = ({ remainingInMilliseconds, requestId }: Invoke) =>
  contextOf(name, remainingInMilliseconds, requestId, memoryInMegabytes);

async function answer(handler: Handler, invoke: Invoke): Promise<void> {
  try {
    const text = JSON.stringify(await handler(JSON.parse(invoke.event), contextFor(invoke))) ?? "null";
    if (Buffer.byteLength(text) > invoke.responseBytes) throw tooLarge(invoke.responseBytes);
    send("result", text);
  } catch (error) {
    send("failed", functionErrorOf(error));
    send("done", undefined);
  }
}

const tooLarge = (bytesMax: number) =>
  runtimeError(
    "Function.ResponseSizeTooLarge",
    `Response payload size exceeded maximum allowed payload size (${bytesMax} bytes).`,
  );

/** Resolves when both the stream and the handler have ended. */
async function stream(handler: Handler, invoke: Invoke): Promise<void> {
  const stream = new ResponseStream(invoke.streamedBytes);
  const work = (async () => await handler(JSON.parse(invoke.event), stream, contextFor(invoke)))();
  work.then(
    () => stream.fail(new Error("Response stream is not finished.")),
    (error) => stream.fail(error instanceof Error ? error : new Error(String(error))),
  );
  try {
    const { head, content } = await openResponse(stream);
    work.catch((error) => {
      if (!stream.isAbandoned) send("failedLate", functionErrorOf(error));
    });
    const delivered = deliver(content, stream);
    send("head", head);
    await delivered;
  } catch (error) {
    send("failed", functionErrorOf(error));
  }
  await work.catch(() => {});
  send("done", undefined);
}

/**
 * Sends a chunk whenever the reader asks for one. Ends with the last chunk, or when the reader has closed the stream, or
 * when the function destroys it: then the environment does not wait for a reader who asks for nothing.
 */
function deliver(content: AsyncGenerator<Buffer>, stream: ResponseStream): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stream.once("error", reject);
  handlers = {
    invoke: takeInvocation,
    pull: () => {
      content.next().then(({ done, value }) => (done ? resolve(send("end", undefined)) : sendChunk(value)), reject);
    },
    abandon: () => {
      stream.abandon();
      resolve();
    },
  };
  port.ref();
  return promise.finally(() => {
    port.unref();
    handlers = { invoke: takeInvocation };
  });
}

/** Transfers a copy: the chunk's memory may be shared with other buffers of the function. */
function sendChunk(chunk: Buffer): void {
  const bytes = new Uint8Array(chunk);
  send("chunk", bytes, [bytes.buffer]);
}

for (const level of logLevels) console[level] = (...values) => send("log", { level, text: format(...values) });
process.stdout.write = (text) => {
  send("log", { level: "log", text: `${text}`.replace(/\n$/, "") });
  return true;
};
// As NODE_OPTIONS does on AWS: stack traces have the line numbers of the TypeScript files.
process.setSourceMapsEnabled(true);
provideAwsLambda();
void serve();

async function serve(): Promise<void> {
  const run = await load().catch((error) => send("failed", functionErrorOf(error)));
  while (run) {
    await nextTurn();
    await run(await nextInvocation());
  }
}
