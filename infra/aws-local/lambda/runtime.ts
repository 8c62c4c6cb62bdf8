import { flushCompileCache } from "node:module";
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import { receiveMessageOnPort, workerData } from "node:worker_threads";
import type { Context } from "aws-lambda";
import {
  type FromRuntime,
  functionErrorOf,
  type Handlers,
  handleMessage,
  type Invoke,
  logLevels,
  type Message,
  responseTooLarge,
  type Start,
  type ToRuntime,
} from "./messages.ts";
import { mapStackTraces } from "./source-maps.ts";
import { isStreamingHandler, provideAwsLambda, ResponseStream, runtimeError } from "./stream.ts";

type Handler = (event: unknown, ...rest: unknown[]) => unknown;

const { port, sent, isDebugged, name, file, imports, memoryInMegabytes }: Start = workerData;
let invocation: Invoke | undefined;
const takeInvocation = (invoke: Invoke) => {
  invocation = invoke;
};
/** A message for a stream that has ended is ignored. */
let handlers: Handlers<ToRuntime> = { invoke: takeInvocation };

/** Messages go out together, because each wakes a thread. */
const unsent: unknown[] = [];

function send<Kind extends keyof FromRuntime>(kind: Kind, value: FromRuntime[Kind]): void {
  if (unsent.push({ kind, value }) === 1) setImmediate(sendAll);
}

function sendAll(): void {
  if (unsent.length > 0) port.postMessage(unsent.splice(0));
}

const receive = (message: Message<ToRuntime>) => handleMessage(handlers, message);

/**
 * Blocks the thread until there is an invocation, as AWS freezes an environment: meanwhile no timer fires, and no work
 * that the function left running goes on.
 */
async function nextInvocation(): Promise<Invoke> {
  if (isDebugged) {
    port.ref();
    await Atomics.waitAsync(sent, 0, 0).value;
    port.unref();
  } else Atomics.wait(sent, 0, 0);
  Atomics.store(sent, 0, 0);
  while (!invocation) receive(receiveMessageOnPort(port)?.message);
  const next = invocation;
  invocation = undefined;
  return next;
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
  // Otherwise threads that open before this one ends would compile the same, and strip the types again.
  flushCompileCache();
  const run = isStreamingHandler(handler) ? stream : respond;
  return (invoke) => run(handler, invoke);
}

/** What a handler gets beside the event. Its callbacks left Lambda with Node.js 24. */
function contextFor({ remainingInMilliseconds, requestId }: Invoke): Omit<Context, "done" | "fail" | "succeed"> {
  const deadline = Date.now() + remainingInMilliseconds;
  const region = process.env.AWS_REGION ?? "us-east-1";
  return {
    awsRequestId: requestId,
    callbackWaitsForEmptyEventLoop: true,
    functionName: name,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:${region}:123456789012:function:${name}`,
    logGroupName: `/aws/lambda/${name}`,
    logStreamName: "local",
    memoryLimitInMB: String(memoryInMegabytes),
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
}

async function respond(handler: Handler, invoke: Invoke): Promise<void> {
  try {
    const text = JSON.stringify(await handler(JSON.parse(invoke.event), contextFor(invoke))) ?? "null";
    if (Buffer.byteLength(text) <= invoke.responseBytes) return send("result", text);
    send("failed", responseTooLarge(invoke.responseBytes));
  } catch (error) {
    send("failed", functionErrorOf(error));
  }
  send("done", undefined);
}

/** Resolves when both the stream and the handler have ended. */
async function stream(handler: Handler, invoke: Invoke): Promise<void> {
  let pulled = Promise.withResolvers<void>();
  // The reader wants the first chunk anyway.
  pulled.resolve();
  const stream = new ResponseStream(invoke.streamedBytes, {
    head(prelude) {
      send("head", prelude);
      // The thread must not end while it waits for the reader.
      port.ref();
    },
    async wantsMore() {
      await pulled.promise;
      pulled = Promise.withResolvers();
    },
    // A copy, since what is sent is the whole memory of a view.
    chunk: (bytes) => send("chunk", new Uint8Array(bytes)),
    end: () => send("end", undefined),
  });
  handlers = { invoke: takeInvocation, pull: () => pulled.resolve(), abandon: () => stream.abandon() };
  const closed = new Promise<void>((resolve, reject) => stream.once("error", reject).once("close", resolve));
  const work = (async () => await handler(JSON.parse(invoke.event), stream, contextFor(invoke)))();
  work.then(
    () => stream.fail(new Error("Response stream is not finished.")),
    (error) => {
      if (stream.hasHead && !stream.isAbandoned) logLate(invoke.requestId, error);
      stream.fail(error instanceof Error ? error : new Error(String(error)));
    },
  );
  try {
    await closed;
    if (!stream.writableFinished) throw new Error("Response stream was closed before its end.");
  } catch (error) {
    if (!stream.isAbandoned) send("failed", functionErrorOf(error));
  }
  port.unref();
  handlers = { invoke: takeInvocation };
  await work.catch(() => {});
  send("done", undefined);
}

/** A stream has begun, so a failure is only logged. */
const logLate = (requestId: string, error: unknown) =>
  console.error(JSON.stringify({ level: "error", function: name, requestId, ...functionErrorOf(error) }));

for (const level of logLevels)
  console[level] = (...values) => {
    send("log", { level, text: format(...values) });
    // A developer who steps through the function sees the line at once.
    if (isDebugged) sendAll();
  };
process.stdout.write = (text) => {
  send("log", { level: "log", text: `${text}`.replace(/\n$/, "") });
  return true;
};
process.once("exit", sendAll);
// Whoever imports node:http, as the SDK does where it is not https as on AWS, would load all of undici for these names.
for (const name of ["CloseEvent", "MessageEvent", "WebSocket"])
  Reflect.deleteProperty(process.getBuiltinModule("node:http"), name);
mapStackTraces();
provideAwsLambda();
void serve();

async function serve(): Promise<void> {
  const run = await load().catch((error) => send("failed", functionErrorOf(error)));
  while (run) {
    await nextTurn();
    await run(await nextInvocation());
  }
}
