import { deepStrictEqual } from "node:assert";
import { type ChildProcess, fork, spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../infra/aws-local/free-port.ts";
import { builds } from "../../infra/local/service.ts";
import { messageOf } from "./child.ts";
import type { FloorRoute } from "./floor.ts";
import { comparison, type Load, type Server } from "./load.ts";
import type { Row } from "./measure.ts";
import { minimalStatement } from "./minimal.ts";
import { randomSeries } from "./reads.ts";
import { token } from "./requests.ts";
import type { Size, Stage } from "./stage.ts";

interface Request extends Pick<FloorRoute, "url" | "page"> {
  readonly what: string;
  readonly file: string;
  readonly parameters?: Readonly<Record<string, string | number>>;
  readonly guarded?: true;
  /** The least ratio to the floor's requests a second, at 16 connections. */
  readonly least: Readonly<Record<20_000 | 200_000, number>>;
}

const page = { field: "contributors", limit: 50 };

/** Texts that about twenty names contain. */
const searched = { 20000: "wilz", 200000: "ranbel" } as const;
type Measured = keyof typeof searched;

const requestsAt = (size: Measured): readonly Request[] => [
  {
    what: "list",
    url: "/contributors?client=1&limit=50",
    file: "contributors-counted",
    parameters: { client: 1, limit: 50 },
    page,
    least: { 20000: 0.55, 200000: 1.2 },
  },
  {
    what: "search",
    url: `/contributors?client=1&limit=50&search=${searched[size]}`,
    file: "contributors-search",
    parameters: { client: 1, limit: 50, search: searched[size] },
    page,
    least: { 20000: 0.22, 200000: 0.35 },
  },
  {
    what: "slug",
    url: "/contributor/slug/made-up-777",
    file: "contributor-slug",
    parameters: { slug: "made-up-777" },
    least: { 20000: 0.14, 200000: 0.14 },
  },
  {
    what: "random",
    url: "/contributor/random?client=1",
    file: "contributor-random",
    parameters: { client: 1 },
    least: { 20000: 0.1, 200000: 0.1 },
  },
  {
    what: "roles",
    url: "/admin-roles",
    file: "admin-roles-list",
    guarded: true,
    least: { 20000: 0.12, 200000: 0.12 },
  },
];

/** Compares the whole local service with the floor (floor.ts), in turns and with the same PostgreSQL. */
export async function http(stage: Stage): Promise<Row[]> {
  const rows: Row[] = [];
  for (const size of [20_000, 200_000] as const) rows.push(...(await overRecords(stage, size)));
  return rows;
}

async function overRecords(stage: Stage, size: Measured): Promise<Row[]> {
  const requests = requestsAt(size);
  const ours = await startService(stage, size);
  const floor = await startFloor(stage, size, requests);
  const rows: Row[] = [];
  try {
    for (const { what, url, guarded, least } of requests) {
      const headers = guarded ? { cookie: `refreshToken=${token}` } : {};
      if (what !== "random") await expectSameAnswer(ours, floor, url, headers);
      const load: Load = { path: url, headers, postmaster: stage.postmaster };
      for (const connections of [16, 1]) {
        const { ratio, text, processor, processorText, failed } = await comparison(ours, floor, load, connections);
        const name = `${what}, ${size} records, ${connections} connections`;
        rows.push(
          { what: `${name} (${text})`, value: ratio, unit: "x", ...(connections > 1 && { least: least[size] }) },
          { what: `  CPU a request (${processorText})`, value: processor, unit: "x" },
        );
        if (failed > 0) rows.push({ what: "  answers other than 2xx", value: failed, unit: "", bound: 0 });
      }
    }
  } finally {
    await Promise.all([ours, floor].map((server) => server.close()));
  }
  return rows;
}

/** Ignores the series, which are random in each answer. */
async function expectSameAnswer(ours: Server, floor: Server, path: string, headers: Record<string, string>) {
  const answers = [ours, floor].map(async ({ url }) => {
    const response = await fetch(`${url}${path}`, { headers });
    return (await response.text()).replaceAll(randomSeries, "");
  });
  const [one, other] = await Promise.all(answers);
  deepStrictEqual(one, other);
}

/** The service as `npm start` runs it. */
async function startService(stage: Stage, size: Size): Promise<Server> {
  const { database, outdir } = await stage.catalogue(size);
  const port = await freePort();
  const flags = ["--port", `${port}`, "--data", join(outdir, "../service"), "--no-uploads"];
  const child = spawn(process.execPath, [join(import.meta.dirname, "../../infra/local/start.ts"), ...flags], {
    env: { ...process.env, COLOPHON_DATABASE_URL: `${stage.databaseUrl}/${database}` },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const url = `http://127.0.0.1:${port}`;
  await answering(`${url}/contributors?client=1&limit=1`, child);
  return {
    url,
    processId: child.pid ?? 0,
    async close() {
      await ended(child, "SIGTERM");
      await rm(join(builds, `${port}`), { recursive: true, force: true });
    },
  };
}

async function startFloor(stage: Stage, size: Size, requests: readonly Request[]): Promise<Server> {
  const { database } = await stage.catalogue(size);
  const routes = await Promise.all(
    requests.map(async ({ url, page, guarded, ...read }): Promise<FloorRoute> => {
      const permission = guarded && { permission: "view-roles" as const };
      return { url, statement: await minimalStatement({ ...read, ...permission }, ""), ...(page && { page }) };
    }),
  );
  const args = [`${stage.databaseUrl}/${database}`, JSON.stringify(routes)];
  const child = fork(join(import.meta.dirname, "floor.ts"), args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const url = `http://127.0.0.1:${await messageOf<number>(child)}`;
  return { url, processId: child.pid ?? 0, close: () => ended(child, "SIGTERM") };
}

async function answering(url: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const answer = await fetch(url).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok) return;
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${url} does not answer`);
    await sleep(100);
  }
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await exit;
}
