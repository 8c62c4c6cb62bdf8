import { type ChildProcess, fork, spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../infra/aws-local/free-port.ts";
import { builds } from "../../infra/local/service.ts";
import { messageOf } from "./child.ts";
import { comparison, type Server } from "./load.ts";
import type { Row } from "./measure.ts";
import type { Size, Stage } from "./stage.ts";
import { type Captured, capture } from "./statements.ts";

const size = 20_000;
const requested = ["contributors/list", "contributor/slug", "contributor/random", "admin-roles/list"];
/** Milliseconds of Node's CPU: gateway, function and Data API together. */
const slugProcessorMax = 1.5;

/**
 * Compares the whole local service with the least that sends the same statements (floor.ts), in turns and with the same
 * PostgreSQL.
 */
export async function http(stage: Stage): Promise<Row[]> {
  const captured = (await capture(stage, size)).filter(({ name }) => requested.includes(name));
  const ours = await startService(stage, size);
  const floor = await startFloor(stage, captured);
  const rows: Row[] = [];
  try {
    for (const { name, target: path, headers } of captured) {
      const load = { path, headers, postmaster: stage.postmaster };
      for (const connections of [16, 1]) {
        const { ratio, text, node, processor, processorText, failed } = await comparison(
          ours,
          floor,
          load,
          connections,
        );
        const isBound = name === "contributor/slug" && connections > 1;
        rows.push(
          { what: `${name}, ${connections} connections (${text})`, value: ratio, unit: "x" },
          { what: `  CPU a request (${processorText})`, value: processor, unit: "x" },
          { what: "  Node's CPU a request", value: node, unit: "ms", ...(isBound && { bound: slugProcessorMax }) },
        );
        if (failed > 0) rows.push({ what: "  answers other than 2xx", value: failed, unit: "", bound: 0 });
      }
    }
  } finally {
    await Promise.all([ours, floor].map((server) => server.close()));
  }
  return rows;
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
      await ended(child);
      await rm(join(builds, `${port}`), { recursive: true, force: true });
    },
  };
}

async function startFloor(stage: Stage, captured: readonly Captured[]): Promise<Server> {
  const { database } = await stage.catalogue(size);
  const args = [`${stage.databaseUrl}/${database}`, JSON.stringify(captured)];
  const child = fork(join(import.meta.dirname, "floor.ts"), args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const url = `http://127.0.0.1:${await messageOf<number>(child)}`;
  return { url, processId: child.pid ?? 0, close: () => ended(child) };
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

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill();
  await exit;
}
