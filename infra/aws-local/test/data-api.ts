import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Operation, Request } from "../data-api/requests.ts";
import { type DataApiOptions, type Interceptor, startDataApi as start } from "../data-api/server.ts";
import { ServiceError } from "../http/service-error.ts";

/* A Data API whose calls tests see, and break. */

export interface Call {
  operation: Operation;
  sql?: string;
  parameters?: Request["parameters"];
  /** Counts from 1 since the start or since `calls` was last emptied. */
  number: number;
  /** The client's count of its own attempts, from the header `amz-sdk-request`. */
  attempt: number;
}

/**
 * A fault that a test injects. With `error-after`, `drop-after` and `cut-body` the statement has run, which the caller
 * cannot know; with `hold` its response is late. With `late` the connection breaks at once, and the statement runs when the promise is fulfilled.
 */
export type Fault =
  | { kind: "error" | "error-after"; status: number; type: string; message?: string }
  | { kind: "drop-before" | "drop-after" | "cut-body" | "503" | "throttle" }
  | { kind: "late"; until: Promise<unknown>; done?: (text: string) => void }
  | { kind: "delay"; ms: number }
  | { kind: "hold"; until: Promise<unknown> };

/** Those of a network and of a busy service. */
export const commonFaults: readonly Fault[] = [
  ...(["drop-before", "drop-after", "cut-body", "503", "throttle"] as const).map((kind) => ({ kind })),
  { kind: "delay", ms: 400 },
];

/** Called before each operation; may respond instead of the database, or break the connection. */
export type Intercept = (call: Call) => Fault | undefined | Promise<Fault | undefined>;

export type DataApi = Awaited<ReturnType<typeof startDataApi>>;

const callsMax = 2_000;

export async function startDataApi(options: DataApiOptions) {
  /** The operations received since the start or since this was last emptied, in order; the latest 2,000 of them. */
  const calls: Call[] = [];
  let faultOf: Intercept | undefined;
  const connections = new Set<Socket>();
  const stale = new WeakSet<Socket>();

  const intercept: Interceptor = async ({ operation, input: { sql, parameters }, request, response }, run) => {
    const { socket, headers } = request;
    if (stale.has(socket)) return void socket.resetAndDestroy();
    connections.add(socket);
    const number = (calls.at(-1)?.number ?? 0) + 1;
    const attempt = Number(/attempt=(\d+)/.exec(`${headers["amz-sdk-request"]}`)?.[1] ?? 1);
    const call = { operation, number, attempt, ...(sql !== undefined && { sql }), parameters };
    if (calls.push(call) > callsMax) calls.shift();
    return await runWith(await faultOf?.(call), run, response);
  };

  return {
    ...(await start({ ...options, intercept })),
    calls,
    intercept(next: Intercept | undefined) {
      faultOf = next;
    },
    /**
     * Resets all connections, as happens while an execution environment is frozen: the client notices it with its next
     * request.
     */
    resetConnections() {
      for (const socket of connections) stale.add(socket);
    },
  };
}

/** Runs an operation under a fault. Undefined where the connection breaks. */
async function runWith(
  fault: Fault | undefined,
  run: () => Promise<string>,
  response: ServerResponse,
): Promise<string | undefined> {
  const drop = () => void response.destroy();
  if (fault?.kind === "drop-before") return drop();
  if (fault?.kind === "error") throw new ServiceError(fault.status, fault.type, fault.message);
  if (fault?.kind === "503") throw new ServiceError(503, "ServiceUnavailableError");
  if (fault?.kind === "throttle") throw new ServiceError(400, "ThrottlingException", "Rate exceeded");
  if (fault?.kind === "delay") await sleep(fault.ms);
  if (fault?.kind === "late") {
    void fault.until.then(run).then(fault.done, fault.done);
    return drop();
  }
  const text = await run();
  if (fault?.kind === "hold") await fault.until;
  if (fault?.kind === "drop-after") return drop();
  if (fault?.kind === "error-after") throw new ServiceError(fault.status, fault.type, fault.message);
  if (fault?.kind !== "cut-body") return text;
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  return void response.write(text.slice(0, text.length / 2), () => response.socket?.resetAndDestroy());
}
