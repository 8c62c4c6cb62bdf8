import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError, translate } from "./errors.ts";
import { type Limits, serviceLimits } from "./limits.ts";
import { createOperations } from "./operations.ts";
import { type Operation, parseRequest } from "./requests.ts";
import { openSessions } from "./sessions.ts";

export type { Limits } from "./limits.ts";

export interface DataApiOptions {
  /** PostgreSQL server without database, `postgres://user:password@host:port`; each request names its database. */
  databaseUrl: string;
  /** Default: a free one, on 127.0.0.1. */
  port?: number;
  /** Milliseconds added to every answer, to feel like the real service (about 17 in the same region). */
  latency?: number;
  limits?: Partial<Limits>;
  /** Called before each operation; may answer instead of the database, or break the connection. */
  intercept?: (call: Call) => Fault | undefined | Promise<Fault | undefined>;
}

export interface Call {
  operation: Operation;
  sql?: string;
  /** Counts from 1 since the start or since `calls` was last emptied. */
  number: number;
  /** The client's count of its own attempts, from the header `amz-sdk-request`. */
  attempt: number;
}

/** A failure at the wire. After `error-after` and `drop-after` the statement has run, though the caller cannot know. */
export type Fault =
  | { kind: "error"; status: number; type: string; message?: string }
  | { kind: "error-after"; status: number; type: string; message?: string }
  | { kind: "drop-before" }
  | { kind: "drop-after" }
  | { kind: "delay"; ms: number };

export interface DataApi {
  url: string;
  /** Every operation received since the start or since this was last emptied, in order. */
  calls: Call[];
  /** Swaps the interception at run time. */
  intercept(next: DataApiOptions["intercept"]): void;
  /** Closes the sessions on one database, so that it can be dropped. */
  closeDatabase(name: string): Promise<void>;
  close(): Promise<void>;
}

const routes: Record<string, Operation> = {
  "/Execute": "ExecuteStatement",
  "/BatchExecute": "BatchExecuteStatement",
  "/BeginTransaction": "BeginTransaction",
  "/CommitTransaction": "CommitTransaction",
  "/RollbackTransaction": "RollbackTransaction",
};

/** Starts an RDS Data API that speaks the service's wire protocol (restJson1) and runs statements on PostgreSQL. */
export async function startDataApi(options: DataApiOptions): Promise<DataApi> {
  const limits = { ...serviceLimits, ...options.limits };
  const sessions = openSessions(options.databaseUrl);
  const operations = createOperations(sessions, limits);
  const calls: Call[] = [];
  let intercept = options.intercept;

  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const { operation, body } = await receive(request, limits);
    const call = describeCall(operation, body, calls.length + 1, request);
    calls.push(call);
    const fault = await intercept?.(call);
    if (fault?.kind === "drop-before") return response.destroy();
    if (fault?.kind === "error") throw serviceErrorOf(fault);
    if (fault?.kind === "delay") await sleep(fault.ms);
    const answer = await operations[operation](parseRequest(operation, body, limits));
    if (fault?.kind === "drop-after") return response.destroy();
    if (fault?.kind === "error-after") throw serviceErrorOf(fault);
    if (options.latency) await sleep(options.latency);
    return send(response, 200, answer);
  };

  const server = createServer((request, response) => {
    respond(request, response).catch((error) => sendError(response, translate(error)));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(options.port ?? 0, "127.0.0.1", resolve);
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    intercept: (next) => {
      intercept = next;
    },
    closeDatabase: sessions.closeDatabase,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await sessions.close();
    },
  };
}

async function receive(request: IncomingMessage, limits: Limits): Promise<{ operation: Operation; body: string }> {
  const operation = routes[request.url ?? ""];
  if (request.method !== "POST" || !operation) throw new ServiceError(404, "UnknownOperationException");
  checkSignature(request.headers.authorization);
  const chunks: Buffer[] = [];
  let bytes = request.rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= limits.requestBytes) chunks.push(chunk);
  }
  if (bytes > limits.requestBytes) throw new ServiceError(413, "RequestEntityTooLargeException");
  return { operation, body: Buffer.concat(chunks).toString() };
}

/** Only the form is looked at: nobody here knows the keys, and a local caller has nothing to prove. */
function checkSignature(authorization: string | undefined): void {
  if (authorization === undefined)
    throw new ServiceError(403, "MissingAuthenticationTokenException", "Missing Authentication Token");
  if (!/^AWS4-HMAC-SHA256 Credential=[^/]+\/\d{8}\/[^/]+\/rds-data\/aws4_request, ?SignedHeaders=/.test(authorization))
    throw new ServiceError(
      403,
      "InvalidSignatureException",
      "Credential should be scoped to correct service: 'rds-data'.",
    );
}

function describeCall(operation: Operation, body: string, number: number, request: IncomingMessage): Call {
  const attempt = Number(/attempt=(\d+)/.exec(`${request.headers["amz-sdk-request"]}`)?.[1] ?? 1);
  const sql = sqlOf(body);
  return { operation, number, attempt, ...(sql === undefined ? {} : { sql }) };
}

function sqlOf(body: string): string | undefined {
  try {
    const { sql } = JSON.parse(body) as { sql?: unknown };
    return typeof sql === "string" ? sql : undefined;
  } catch {
    return undefined;
  }
}

const serviceErrorOf = ({ status, type, message }: { status: number; type: string; message?: string }) =>
  new ServiceError(status, type, message);

function sendError(response: ServerResponse, { status, type, message, members }: ServiceError): void {
  if (response.destroyed) return;
  const body = JSON.stringify({ __type: type, code: type, ...(message && { message }), ...members });
  response.setHeader("x-amzn-errortype", type);
  send(response, status, body);
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "x-amzn-requestid": crypto.randomUUID(),
  });
  response.end(body);
}
