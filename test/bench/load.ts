import { Agent, get, type IncomingMessage, type RequestOptions } from "node:http";
import { median } from "./measure.ts";
import { postgresSeconds, processorSeconds, threadSeconds } from "./processes.ts";
import type { Server } from "./service.ts";

/** What is measured, and the first process of the PostgreSQL that it uses. */
export type Measurable = Pick<Server, "url" | "processId"> & { readonly postmaster: number };

export interface Load {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly connections: number;
}

export interface Comparison {
  /** The ratio of requests a second. */
  readonly ratio: number;
  readonly text: string;
  /** Milliseconds of Node's CPU that a request of ours takes. */
  readonly node: number;
  /** The ratio of Node's CPU per request. */
  readonly nodeRatio: number;
  readonly nodeText: string;
  /** The ratio of CPU time per request, PostgreSQL's with it. */
  readonly processor: number;
  readonly processorText: string;
  /** The threads of ours that take more than a hundredth of it. */
  readonly threadsText: string;
  readonly failed: number;
}

/** Many short ones, so that other load on the machine affects both servers alike. */
const rounds = 7;
const roundSeconds = 1.5;
/** In this time V8 optimises the code, in all threads. */
const warmUpSeconds = 6;

/** Measures two servers under the same load, in turns. */
export async function comparison(ours: Measurable, floor: Measurable, load: Load): Promise<Comparison> {
  for (const server of [ours, floor]) await measure(server, load, warmUpSeconds);
  const found: { ours: Measured; floor: Measured }[] = [];
  for (let round = 0; round < rounds; round++) {
    found.push({
      ours: await measure(ours, load, roundSeconds),
      floor: await measure(floor, load, roundSeconds),
    });
  }
  const of = (pick: (measured: Measured) => number) => ({
    ours: median(found.map(({ ours }) => pick(ours))),
    floor: median(found.map(({ floor }) => pick(floor))),
  });
  const rate = of((each) => each.rate);
  const node = of((each) => each.node);
  const postgres = of((each) => each.postgres);
  const generator = of((each) => each.generator);
  const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
  const micro = ({ ours, floor }: { ours: number; floor: number }) =>
    `${(1e6 * ours).toFixed(0)} to ${(1e6 * floor).toFixed(0)} µs`;
  return {
    ratio: median(found.map(({ ours, floor }) => ours.rate / floor.rate)),
    text: `${rate.ours.toFixed(0)} to ${rate.floor.toFixed(0)} a second`,
    node: 1e3 * node.ours,
    nodeRatio: median(found.map(({ ours, floor }) => ours.node / floor.node)),
    nodeText: micro(node),
    processor: (node.ours + postgres.ours) / (node.floor + postgres.floor),
    processorText:
      `Node ${micro(node)}, PostgreSQL ${micro(postgres)}; ` +
      `load ${percent(generator.ours)} and ${percent(generator.floor)} of a core`,
    threadsText: threadsOf(found.map(({ ours }) => ours)),
    failed: found.reduce((sum, { ours, floor }) => sum + ours.failed + floor.failed, 0),
  };
}

function threadsOf(measured: readonly Measured[]): string {
  const names = new Set(measured.flatMap(({ threads }) => [...threads.keys()]));
  const all = Array.from(
    names,
    (name) => [name, median(measured.map(({ threads }) => threads.get(name) ?? 0))] as const,
  );
  const total = all.reduce((sum, [, seconds]) => sum + seconds, 0);
  return all
    .filter(([, seconds]) => seconds > total / 100)
    .map(([name, seconds]) => `${name} ${(1e6 * seconds).toFixed(0)} µs`)
    .join(", ");
}

interface Measured {
  /** Requests a second. */
  readonly rate: number;
  /** CPU seconds per request. */
  readonly node: number;
  readonly threads: ReadonlyMap<string, number>;
  readonly postgres: number;
  /** The share of a core that the load generator uses. */
  readonly generator: number;
  readonly failed: number;
}

async function measure(server: Measurable, load: Load, duration: number): Promise<Measured> {
  const { path, headers = {}, connections } = load;
  const spent = async () => ({
    node: await processorSeconds(server.processId),
    threads: await threadSeconds(server.processId),
    postgres: await postgresSeconds(server.postmaster),
    own: process.cpuUsage(),
    at: performance.now(),
  });
  const before = await spent();
  const responses = await sendFor(duration, `${server.url}${path}`, headers, connections);
  const after = await spent();
  const seconds = (after.at - before.at) / 1_000;
  const own = process.cpuUsage(before.own);
  const requests = responses.succeeded;
  return {
    rate: requests / seconds,
    node: (after.node - before.node) / requests,
    threads: new Map(
      Array.from(after.threads, ([name, seconds]) => [name, (seconds - (before.threads.get(name) ?? 0)) / requests]),
    ),
    postgres: (after.postgres - before.postgres) / requests,
    generator: (own.user + own.system) / 1e6 / seconds,
    failed: responses.failed,
  };
}

/** Sends requests over so many connections for some seconds: on each the next one when the last is answered. */
async function sendFor(seconds: number, url: string, headers: Load["headers"], connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const end = performance.now() + 1_000 * seconds;
  let succeeded = 0;
  let failed = 0;
  const send = async () => {
    while (performance.now() < end) {
      const status = await statusOf(url, { agent, headers: { ...headers } }).catch(() => undefined);
      if (status !== undefined && status >= 200 && status < 300) succeeded++;
      else failed++;
    }
  };
  await Promise.all(Array.from({ length: connections }, send));
  agent.destroy();
  return { succeeded, failed };
}

const statusOf = (url: string, options: RequestOptions) =>
  new Promise<number | undefined>((resolve, reject) => {
    const onResponse = (response: IncomingMessage) =>
      response
        .resume()
        .once("end", () => resolve(response.statusCode))
        .once("error", reject);
    get(url, options, onResponse).once("error", reject);
  });
