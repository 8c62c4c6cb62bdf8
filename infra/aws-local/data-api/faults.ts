import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "../http/service-error.ts";
import type { Operation, Request } from "./requests.ts";

/* What tests see of the calls, and how they break them. */

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
 * cannot know; with `hold` its answer is late. With `late` the connection breaks at once, and the statement runs when the promise is fulfilled.
 */
export type Fault =
  | { kind: "error"; status: number; type: string; message?: string }
  | { kind: "error-after"; status: number; type: string; message?: string }
  | { kind: "drop-before" }
  | { kind: "drop-after" }
  | { kind: "cut-body" }
  | { kind: "late"; until: Promise<unknown>; done?: (text: string) => void }
  | { kind: "503" }
  | { kind: "throttle" }
  | { kind: "delay"; ms: number }
  | { kind: "hold"; until: Promise<unknown> };

/** Called before each operation; may answer instead of the database, or break the connection. */
export type Intercept = (call: Call) => Fault | undefined | Promise<Fault | undefined>;

/** Runs an operation under a fault. Undefined where the connection breaks instead of an answer. */
export async function runWith(
  fault: Fault | undefined,
  run: () => Promise<string>,
): Promise<{ text: string; isCut: boolean } | undefined> {
  if (fault?.kind === "drop-before") return undefined;
  if (fault?.kind === "error") throw serviceErrorOf(fault);
  if (fault?.kind === "503") throw new ServiceError(503, "ServiceUnavailableError");
  if (fault?.kind === "throttle") throw new ServiceError(400, "ThrottlingException", "Rate exceeded");
  if (fault?.kind === "delay") await sleep(fault.ms);
  if (fault?.kind === "late") return void fault.until.then(run).then(fault.done, fault.done);
  const text = await run();
  if (fault?.kind === "hold") await fault.until;
  if (fault?.kind === "drop-after") return undefined;
  if (fault?.kind === "error-after") throw serviceErrorOf(fault);
  return { text, isCut: fault?.kind === "cut-body" };
}

const serviceErrorOf = ({ status, type, message }: { status: number; type: string; message?: string }) =>
  new ServiceError(status, type, message);

const callsMax = 2_000;

/** The latest calls, in order. */
export function recordCalls() {
  const calls: Call[] = [];
  const record = (operation: Operation, { sql, parameters }: Request, { headers }: IncomingMessage): Call => {
    const number = (calls.at(-1)?.number ?? 0) + 1;
    const attempt = Number(/attempt=(\d+)/.exec(`${headers["amz-sdk-request"]}`)?.[1] ?? 1);
    const call = { operation, number, attempt, ...(sql !== undefined && { sql }), parameters };
    if (calls.push(call) > callsMax) calls.shift();
    return call;
  };
  return { calls, record };
}

/**
 * Resets all idle connections, as happens while an execution environment is frozen: the client notices it with its next
 * request.
 */
export function idleConnectionsOf(server: Server) {
  const idle = new Set<Socket>();
  const stale = new WeakSet<Socket>();
  server.on("connection", (socket) => {
    idle.add(socket);
    socket.once("close", () => idle.delete(socket));
  });
  server.prependListener("request", ({ socket }, response) => {
    idle.delete(socket);
    response.once("close", () => socket.destroyed || idle.add(socket));
  });
  return {
    reset() {
      for (const socket of idle) stale.add(socket);
    },
    isReset: (socket: Socket) => stale.has(socket),
  };
}
