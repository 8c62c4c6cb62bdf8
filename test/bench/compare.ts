import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { freePort } from "../../infra/aws-local/http/free-port.ts";
import { runningPostgres } from "../../infra/aws-local/postgres/cluster.ts";
import { cachedBuild } from "../../infra/build/cached-build.ts";
import { type Statement, startRecorder } from "../../infra/check/recorder.ts";
import { eventOf } from "../../infra/command/event.ts";
import { defaultName } from "../../infra/local/database.ts";
import { comparison, type Load, rowsOf } from "./load.ts";
import type { Row } from "./measure.ts";
import { residentMegabytes } from "./processes.ts";

interface Closable {
  close(): Promise<unknown>;
}

/** Takes what is closed afterwards. */
type Keep = <Started extends Closable>(starting: Promise<Started>) => Promise<Started>;

export interface Server extends Closable {
  readonly url: string;
  readonly processId: number;
  /** The first process of the PostgreSQL that it uses. */
  readonly postmaster: number;
}

const root = join(import.meta.dirname, "../..");
const contributors = 25_000;

/** Measures servers whose data are in the directory. */
export async function withServers(measure: (directory: string, keep: Keep) => Promise<Row[]>): Promise<Row[]> {
  const directory = await mkdtemp(join(tmpdir(), "colophon-bench-"));
  const servers: Closable[] = [];
  const keep: Keep = async (starting) => {
    const server = await starting;
    servers.push(server);
    return server;
  };
  try {
    return await measure(directory, keep);
  } finally {
    await Promise.all(servers.map((server) => server.close()));
    await rm(directory, { recursive: true });
  }
}

const serverOf = (child: ChildProcess, port: unknown, postmaster: number): Server => ({
  url: `http://127.0.0.1:${port}`,
  processId: child.pid ?? 0,
  postmaster,
  close: () => Promise.all([once(child, "exit"), child.kill()]),
});

/** The service as `npm start` runs it, of this checkout or another one, which has its packages. */
export async function startService(data: string, checkout = root): Promise<Server> {
  const port = `${await freePort()}`;
  const words = ["--port", port, "--data", data, "--no-uploads", "--scale", `${contributors}`];
  const child = spawn(process.execPath, [join(checkout, "infra/local/start.ts"), ...words], {
    cwd: checkout,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const isUp = async () => (await fetch(`http://127.0.0.1:${port}/publishers?limit=1`).catch(() => undefined))?.ok;
  while (child.exitCode === null && !(await isUp())) await sleep(100);
  const [postmaster] = (await readFile(join(data, "postgres/postmaster.pid"), "utf8")).split("\n");
  return serverOf(child, port, Number(postmaster));
}

interface Request extends Omit<Load, "connections"> {
  readonly name: string;
}

/** The sample event of an endpoint, and the statement that it sends for that. */
export interface Captured extends Request {
  readonly statement: Statement;
}

async function capture(names: readonly string[]): Promise<Captured[]> {
  const { outdir } = await cachedBuild();
  const recorder = await startRecorder(outdir);
  const captured: Captured[] = [];
  for (const name of names) {
    const event = (await eventOf(name)) as APIGatewayProxyEvent & { readonly headers: Record<string, string> };
    const query = `${new URLSearchParams((event.queryStringParameters ?? {}) as Record<string, string>)}`;
    const [statement] = await recorder.statementsOf(name, event);
    const path = query === "" ? event.path : `${event.path}?${query}`;
    captured.push({ name, path, headers: event.headers, statement });
  }
  await recorder.close();
  return captured;
}

/** Milliseconds of Node's CPU for a slug, over many connections: gateway, function and Data API together. */
const processorMax: Readonly<Record<string, number>> = { "contributor/slug": 1.5 };

/** Measures both with each request, over many connections and over one. */
async function compare(ours: Server, theirs: Server, requests: readonly Request[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name, ...request } of requests) {
    for (const connections of [16, 1]) {
      const compared = await comparison(ours, theirs, { ...request, connections });
      rows.push(...rowsOf(`${name}, ${connections} connections`, compared));
      const bound = connections > 1 && processorMax[name];
      if (bound) rows.push({ what: "  Node's CPU a request", value: compared.node.ours / 1_000, unit: "ms", bound });
    }
  }
  return rows;
}

/** Compares the whole local service with the least that sends the same statements (floor.ts), in turns. */
export const compareWithFloor = () =>
  withServers(async (directory, keep) => {
    const captured = await capture(["contributors/list", "contributor/slug", "contributor/random", "admin-roles/list"]);
    const ours = await keep(startService(join(directory, "ours")));
    const startFloor = async () => {
      const databaseUrl = `${await runningPostgres(join(directory, "ours/postgres"))}/${defaultName}`;
      const child = fork(join(import.meta.dirname, "floor.ts"), [databaseUrl, JSON.stringify(captured)]);
      const [port] = await once(child, "message");
      return serverOf(child, port, ours.postmaster);
    };
    return await compare(ours, await keep(startFloor()), captured);
  });

const requests: readonly Request[] = [
  { name: "list", path: "/contributors?client=1&limit=50" },
  // Names of as many made-up contributors as in checkouts that make up other names.
  { name: "search", path: "/contributors?client=1&limit=50&search=oda" },
  { name: "slug", path: "/contributor/slug/made-up-777" },
];
const megabytesMax = 900;

/** Compares `npm start` with that of another checkout, in turns. */
export const compareCheckouts = (checkout: string) =>
  withServers(async (directory, keep) => {
    const ours = await keep(startService(join(directory, "ours")));
    const theirs = await keep(startService(join(directory, "theirs"), resolve(checkout)));
    const rows = await compare(ours, theirs, requests);
    const [value, other] = await Promise.all([ours, theirs].map(({ processId }) => residentMegabytes(processId)));
    rows.push({ what: `memory (theirs ${other?.toFixed(0)} MB)`, value: value ?? 0, unit: "MB", bound: megabytesMax });
    return rows;
  });
