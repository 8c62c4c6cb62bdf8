import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ExecuteStatementCommand, type ExecuteStatementCommandInput, RDSDataClient } from "@aws-sdk/client-rds-data";
import {
  isStreamingHandler,
  type Prelude,
  provideAwsLambda,
  ResponseStream,
} from "../../infra/aws-local/lambda/stream.ts";

/*
 * Calls the functions of a checkout in this process. Without a checkout it sends their statements by a client of the SDK
 * that nobody has tuned. Replies with the microseconds of CPU that a call took.
 */

/** What the parent wants to be called, and how often. */
export interface Calls {
  readonly name: string;
  readonly count: number;
  /** What the function of this name sends. */
  readonly statement?: ExecuteStatementCommandInput | undefined;
}

const [checkout] = process.argv.slice(2);
const client = new RDSDataClient();
const functions = new Map<string, () => Promise<void>>();

process.on("message", async ({ name, count, statement }: Calls) => {
  const call = statement ? () => client.send(new ExecuteStatementCommand(statement)) : await functionOf(name);
  const before = process.cpuUsage();
  for (let called = 0; called < count; called++) await call();
  const { user, system } = process.cpuUsage(before);
  process.send?.((user + system) / count);
});

async function functionOf(name: string): Promise<() => Promise<void>> {
  const call = functions.get(name) ?? (await load(name));
  functions.set(name, call);
  return call;
}

/** Loads the bundle of a function, and calls it with its sample event. */
async function load(name: string): Promise<() => Promise<void>> {
  const build: typeof import("../../infra/build/cached-build.ts") = await import(
    join(`${checkout}`, "infra/build/cached-build.ts")
  );
  const { outdir } = await build.cachedBuild();
  provideAwsLambda();
  const { handler } = await import(join(outdir, name, "index.mjs"));
  const event = await readFile(join(`${checkout}`, `events/${name}.json`), "utf8");
  const context = { awsRequestId: "bench", getRemainingTimeInMillis: () => 29_000 };
  return async () => {
    const result = isStreamingHandler(handler)
      ? await streamed((stream) => handler(JSON.parse(event), stream, context))
      : await handler(JSON.parse(event), context);
    if (result.statusCode !== 200) throw new Error(`${name}: ${JSON.stringify(result)}`);
  };
}

/** Reads a stream to its end, and returns its head. */
async function streamed(write: (stream: ResponseStream) => Promise<unknown>): Promise<Prelude> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let prelude: Prelude = {};
  const head = (value: Prelude) => {
    prelude = value;
  };
  const stream = new ResponseStream(Infinity, { head, wantsMore: async () => {}, chunk: () => {}, end: resolve });
  await write(stream);
  await promise;
  return prelude;
}
