import { join } from "node:path";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { eventOf } from "../../infra/command/event.ts";
import type { Statement } from "../../infra/local/sql/query-plan.ts";
import { startRecorder } from "../../infra/local/sql/sql.ts";
import { comparison, rowsOf } from "./load.ts";
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
  const captured: Captured[] = [];
  for (const name of requested) {
    const event = (await eventOf(name)) as APIGatewayProxyEvent & { readonly headers: Record<string, string> };
    const query = new URLSearchParams((event.queryStringParameters ?? {}) as Record<string, string>);
    const [statement] = await recorder.statementsOf(name, event);
    captured.push({ name, target: `${event.path}?${query}`, headers: event.headers, statement });
  }
  await recorder.close();
  return captured;
}

/** Milliseconds of Node's CPU: gateway, function and Data API together. */
const slugProcessorMax = 1.5;

/** Compares the whole local service with the least that sends the same statements (floor.ts), in turns. */
export async function http(stage: Stage): Promise<Row[]> {
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
    for (const { name, target: path, headers } of captured) {
      for (const connections of [16, 1]) {
        const compared = await comparison(ours, floor, { path, headers, connections });
        rows.push(...rowsOf(`${name}, ${connections} connections`, compared));
        if (name !== slug || connections === 1) continue;
        const value = compared.node.ours / 1_000;
        rows.push({ what: "  Node's CPU a request", value, unit: "ms", bound: slugProcessorMax });
      }
    }
  } finally {
    await Promise.all(servers.map((server) => server.close()));
  }
  return rows;
}
