import { deepStrictEqual } from "node:assert";
import { type ChildProcess, fork, spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../infra/aws-local/http/free-port.ts";
import { messageOf } from "./child.ts";
import { installExpressPrisma } from "./express-prisma.ts";
import { type Comparison, comparison, type Server } from "./load.ts";
import type { Row } from "./measure.ts";
import type { Size, Stage } from "./stage.ts";
import { capture } from "./statements.ts";

const size = 20_000;
const slug = "contributor/slug";
const requested = ["contributors/list", slug, "contributor/random", "admin-roles/list"];
/** Milliseconds of Node's CPU: gateway, function and Data API together. */
const slugProcessorMax = 1.5;

/**
 * Compares the whole local service with the least that sends the same statements (floor.ts), and for a slug with Express
 * and Prisma, in turns and with the same PostgreSQL.
 */
export async function http(stage: Stage): Promise<Row[]> {
  const expressPrisma = await installExpressPrisma();
  const captured = (await capture(stage, size)).filter(({ name }) => requested.includes(name));
  const { database } = await stage.catalogue(size);
  const databaseUrl = `${stage.databaseUrl}/${database}`;
  const servers: Server[] = [];
  const started = async (starting: Promise<Server>) => {
    const server = await starting;
    servers.push(server);
    return server;
  };
  const rows: Row[] = [];
  try {
    const ours = await started(startService(stage, size));
    const floor = await started(
      startChild(join(import.meta.dirname, "floor.ts"), databaseUrl, JSON.stringify(captured)),
    );
    const imageBaseUrl = `${ours.url.replace("127.0.0.1", "localhost")}/images`;
    const express = await started(startChild(expressPrisma, databaseUrl, imageBaseUrl));
    for (const { name, target: path, headers } of captured) {
      const load = { path, headers, postmaster: stage.postmaster };
      for (const connections of [16, 1]) {
        const what = `${name}, ${connections} connections`;
        rows.push(...rowsOf(what, await comparison(ours, floor, load, connections)));
        if (name !== slug) continue;
        await expectSameAnswer(ours, express, path);
        const [ratio, ...others] = rowsOf(what, await comparison(ours, express, load, connections));
        rows.push({ ...ratio, what: `${ratio.what}, compared with Express and Prisma` }, ...others);
      }
    }
  } finally {
    await Promise.all(servers.map((server) => server.close()));
  }
  return rows;
}

function rowsOf(what: string, { ratio, text, node, processor, processorText, threadsText, failed }: Comparison) {
  const isBound = what.startsWith(`${slug}, 16`);
  const failures: Row = { what: "  answers other than 2xx", value: failed, unit: "", bound: 0 };
  return [
    { what: `${what} (${text})`, value: ratio, unit: "x" },
    { what: `  CPU a request (${processorText})`, value: processor, unit: "x" },
    {
      what: `  Node's CPU a request (${threadsText})`,
      value: node,
      unit: "ms",
      ...(isBound && { bound: slugProcessorMax }),
    },
    ...(failed > 0 ? [failures] : []),
  ] satisfies [Row, ...Row[]];
}

async function expectSameAnswer(one: Server, other: Server, path: string): Promise<void> {
  const [ours, theirs] = await Promise.all([one, other].map(async ({ url }) => (await fetch(`${url}${path}`)).json()));
  deepStrictEqual(theirs, ours);
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
    close: () => ended(child),
  };
}

async function startChild(file: string, ...args: string[]): Promise<Server> {
  const child = fork(file, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
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
