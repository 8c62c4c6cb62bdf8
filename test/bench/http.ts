import { deepStrictEqual } from "node:assert";
import { join } from "node:path";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { eventOf } from "../../infra/event.ts";
import type { Statement } from "../../infra/local/query-plan.ts";
import { startRecorder } from "../../infra/local/sql.ts";
import { installExpressPrisma } from "./express-prisma.ts";
import { type Comparison, comparison } from "./load.ts";
import type { Row } from "./measure.ts";
import { type Server, startChild, startService } from "./service.ts";
import type { Stage } from "./stage.ts";

const size = 20_000;
const slug = "contributor/slug";
const requested = ["contributors/list", slug, "contributor/random", "admin-roles/list"];

/** The statement that an endpoint sends for its sample event. */
export interface Captured {
  /** The endpoint's path in `functions`. */
  readonly name: string;
  /** Path and query of the request. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly statement: Statement;
}

async function capture(outdir: string): Promise<Captured[]> {
  const recorder = await startRecorder(outdir);
  const captured = requested.map(async (name) => {
    const event = (await eventOf(name)) as APIGatewayProxyEvent;
    const target = `${event.path}?${new URLSearchParams(event.queryStringParameters as Record<string, string>)}`;
    const [statement] = await recorder.statementsOf(name, event);
    if (!statement) throw new Error(`${name} sends no statement`);
    return { name, target, headers: event.headers as Record<string, string>, statement };
  });
  return await Promise.all(captured).finally(recorder.close);
}

/** Milliseconds of Node's CPU: gateway, function and Data API together. */
const slugProcessorMax = 1.5;

/**
 * Compares the whole local service with the least that sends the same statements (floor.ts), and for a slug with Express
 * and Prisma, in turns and with the same PostgreSQL.
 */
export async function http(stage: Stage): Promise<Row[]> {
  const expressPrisma = await installExpressPrisma();
  const { database, outdir } = await stage.catalogue(size);
  const captured = await capture(outdir);
  const databaseUrl = `${stage.databaseUrl}/${database}`;
  const { postmaster } = stage;
  const servers: Server[] = [];
  const started = async (starting: Promise<Server>) => {
    const server = await starting;
    servers.push(server);
    return { ...server, postmaster };
  };
  const rows: Row[] = [];
  try {
    const env = { COLOPHON_DATABASE_URL: databaseUrl };
    const ours = await started(startService(join(outdir, "../service"), { env }));
    const floor = await started(
      startChild(join(import.meta.dirname, "floor.ts"), databaseUrl, JSON.stringify(captured)),
    );
    const imageBaseUrl = `${ours.url.replace("127.0.0.1", "localhost")}/images`;
    const express = await started(startChild(expressPrisma, databaseUrl, imageBaseUrl));
    for (const { name, target: path, headers } of captured) {
      for (const connections of [16, 1]) {
        const load = { path, headers, connections };
        const what = `${name}, ${connections} connections`;
        rows.push(...rowsOf(what, await comparison(ours, floor, load)));
        if (name !== slug) continue;
        await expectSameAnswer(ours, express, path);
        const [ratio, ...others] = rowsOf(what, await comparison(ours, express, load));
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
