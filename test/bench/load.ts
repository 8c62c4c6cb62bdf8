import { once } from "node:events";
import { Agent, get, type IncomingMessage, type RequestOptions } from "node:http";
import type { Server } from "./compare.ts";
import { median, type Row } from "./measure.ts";
import { postgresSeconds, processorSeconds } from "./processes.ts";

export interface Load {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly connections: number;
}

/** Many short ones, so that other load on the machine affects both servers alike. */
const rounds = 7;
const roundSeconds = 1.5;
/** After a few seconds V8 still optimises, since each environment of a function is a thread of its own. */
const warmUpSeconds = 20;

/** Measures two servers under the same load, in turns. */
export async function comparison(ours: Server, theirs: Server, load: Load) {
  for (const server of [ours, theirs]) await measure(server, load, warmUpSeconds);
  const measured: Record<"ours" | "theirs", Awaited<ReturnType<typeof measure>>>[] = [];
  for (let round = 0; round < rounds; round++) {
    measured.push({ ours: await measure(ours, load, roundSeconds), theirs: await measure(theirs, load, roundSeconds) });
  }
  /** Medians of what they need, and of its ratio. */
  const pairOf = (field: "rate" | "node" | "postgres") => ({
    ours: median(measured.map(({ ours }) => ours[field])),
    theirs: median(measured.map(({ theirs }) => theirs[field])),
    ratio: median(measured.map(({ ours, theirs }) => ours[field] / theirs[field])),
  });
  return {
    /** Requests a second. */
    rate: pairOf("rate"),
    /** Microseconds of Node's CPU per request, and of PostgreSQL's. */
    node: pairOf("node"),
    postgres: pairOf("postgres"),
    failed: measured.reduce((sum, { ours, theirs }) => sum + ours.failed + theirs.failed, 0),
  };
}

export function rowsOf(what: string, { rate, node, postgres, failed }: Awaited<ReturnType<typeof comparison>>): Row[] {
  const text = ({ ours, theirs }: typeof rate) => `${ours.toFixed(0)} to ${theirs.toFixed(0)}`;
  return [
    { what: `${what} (${text(rate)} a second)`, value: rate.ratio, unit: "x" },
    { what: `  Node's CPU a request (${text(node)} µs)`, value: node.ratio, unit: "x" },
    { what: `  PostgreSQL's CPU a request (${text(postgres)} µs)`, value: postgres.ratio, unit: "x" },
    ...(failed > 0 ? [{ what: "  responses other than 2xx", value: failed, unit: "", bound: 0 }] : []),
  ];
}

async function measure(server: Server, load: Load, seconds: number) {
  const spent = async () => ({
    node: await processorSeconds(server.processId),
    postgres: await postgresSeconds(server.postmaster),
    at: performance.now(),
  });
  const before = await spent();
  const { succeeded, failed } = await sendFor(seconds, server, load);
  const after = await spent();
  const microseconds = (old: number, now: number) => (1e6 * (now - old)) / succeeded;
  return {
    rate: (1_000 * succeeded) / (after.at - before.at),
    node: microseconds(before.node, after.node),
    postgres: microseconds(before.postgres, after.postgres),
    failed,
  };
}

/** Sends requests over so many connections for some seconds: on each the next one when it has the response. */
async function sendFor(seconds: number, { url }: Server, { path, headers = {}, connections }: Load) {
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

async function statusOf(url: string, options: RequestOptions): Promise<number | undefined> {
  const [response]: IncomingMessage[] = await once(get(url, options), "response");
  if (response) await once(response.resume(), "end");
  return response?.statusCode;
}
