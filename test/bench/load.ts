import { Agent, get, type IncomingMessage, type RequestOptions } from "node:http";
import { median, type Row } from "./measure.ts";
import { postgresSeconds, processorSeconds, threadSeconds } from "./processes.ts";
import type { Server } from "./service.ts";

/** What is measured, and the first process of the PostgreSQL that it uses. */
export type Measurable = Pick<Server, "url" | "processId"> & { readonly postmaster: number };

export interface Load {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly connections: number;
}

/** Medians of what two servers need, and of its ratio. */
interface Pair {
  readonly ours: number;
  readonly theirs: number;
  readonly ratio: number;
}

export interface Comparison {
  /** Requests a second. */
  readonly rate: Pair;
  /** Microseconds of Node's CPU per request, and of PostgreSQL's. */
  readonly node: Pair;
  readonly postgres: Pair;
  /** The threads of ours that take more than a hundredth of Node's CPU. */
  readonly threads: string;
  readonly failed: number;
}

/** Many short ones, so that other load on the machine affects both servers alike. */
const rounds = 7;
const roundSeconds = 1.5;
/** In this time V8 optimises the code, in all threads. */
const warmUpSeconds = 6;

/** Measures two servers under the same load, in turns. */
export async function comparison(ours: Measurable, theirs: Measurable, load: Load): Promise<Comparison> {
  for (const server of [ours, theirs]) await measure(server, load, warmUpSeconds);
  const measured: { ours: Measured; theirs: Measured }[] = [];
  for (let round = 0; round < rounds; round++) {
    measured.push({
      ours: await measure(ours, load, roundSeconds),
      theirs: await measure(theirs, load, roundSeconds),
    });
  }
  const pairOf = (field: "rate" | "node" | "postgres"): Pair => ({
    ours: median(measured.map(({ ours }) => ours[field])),
    theirs: median(measured.map(({ theirs }) => theirs[field])),
    ratio: median(measured.map(({ ours, theirs }) => ours[field] / theirs[field])),
  });
  return {
    rate: pairOf("rate"),
    node: pairOf("node"),
    postgres: pairOf("postgres"),
    threads: threadsOf(measured.map(({ ours }) => ours.threads)),
    failed: measured.reduce((sum, { ours, theirs }) => sum + ours.failed + theirs.failed, 0),
  };
}

export function rowsOf(what: string, { rate, node, postgres, threads, failed }: Comparison): Row[] {
  const text = ({ ours, theirs }: Pair) => `${ours.toFixed(0)} to ${theirs.toFixed(0)}`;
  return [
    { what: `${what} (${text(rate)} a second)`, value: rate.ratio, unit: "x" },
    { what: `  Node's CPU a request (${text(node)} µs; ${threads})`, value: node.ratio, unit: "x" },
    { what: `  PostgreSQL's CPU a request (${text(postgres)} µs)`, value: postgres.ratio, unit: "x" },
    ...(failed > 0 ? [{ what: "  responses other than 2xx", value: failed, unit: "", bound: 0 }] : []),
  ];
}

function threadsOf(measured: readonly ReadonlyMap<string, number>[]): string {
  const names = [...new Set(measured.flatMap((threads) => [...threads.keys()]))];
  const all = names.map((name) => ({ name, time: median(measured.map((threads) => threads.get(name) ?? 0)) }));
  const total = all.reduce((sum, { time }) => sum + time, 0);
  return all
    .filter(({ time }) => time > total / 100)
    .map(({ name, time }) => `${name} ${time.toFixed(0)}`)
    .join(", ");
}

interface Measured extends Record<"rate" | "node" | "postgres", number> {
  readonly threads: ReadonlyMap<string, number>;
  readonly failed: number;
}

async function measure(server: Measurable, load: Load, seconds: number): Promise<Measured> {
  const spent = async () => ({
    node: await processorSeconds(server.processId),
    threads: await threadSeconds(server.processId),
    postgres: await postgresSeconds(server.postmaster),
    at: performance.now(),
  });
  const before = await spent();
  const { succeeded, failed } = await sendFor(seconds, server, load);
  const after = await spent();
  const microseconds = (former: number, latter: number) => (1e6 * (latter - former)) / succeeded;
  return {
    rate: (1_000 * succeeded) / (after.at - before.at),
    node: microseconds(before.node, after.node),
    postgres: microseconds(before.postgres, after.postgres),
    threads: new Map(
      Array.from(after.threads, ([name, time]) => [name, microseconds(before.threads.get(name) ?? 0, time)]),
    ),
    failed,
  };
}

/** Sends requests over so many connections for some seconds: on each the next one when it has the response. */
async function sendFor(seconds: number, { url }: Measurable, { path, headers = {}, connections }: Load) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const end = performance.now() + 1_000 * seconds;
  let succeeded = 0;
  let failed = 0;
  const send = async () => {
    while (performance.now() < end) {
      const status = await statusOf(url + path, { agent, headers: { ...headers } }).catch(() => undefined);
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
