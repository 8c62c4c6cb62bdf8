import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { newSecrets, type Secrets } from "../../local/secrets.ts";
import { isFromPage } from "../http/loopback.ts";
import { type Key, signatureErrors, verifier } from "../http/signature.ts";
import { openSecrets, secretsOperationOf } from "../secrets-manager/secrets-manager.ts";
import { ServiceError, translate } from "./errors.ts";
import { type Limits, serviceLimits } from "./limits.ts";
import { createOperations } from "./operations.ts";
import { type Operation, parseRequest } from "./requests.ts";
import { openSessions } from "./sessions.ts";

export interface DataApiOptions {
  /** PostgreSQL server without database, `postgres://user:password@host:port`; each request names its database. */
  databaseUrl: string;
  /** Default: the URL's user is the master, and the passwords of the other roles follow from the URL's. */
  secrets?: Secrets;
  /** The key that requests must be signed with. */
  key: Key;
  /** Default: a free port, on 127.0.0.1. */
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

/**
 * A fault that a test injects. With `error-after`, `drop-after` and `cut-body` the statement has run, which the caller
 * cannot know. With `late` the connection breaks at once, and the statement runs when the promise is fulfilled.
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
  | { kind: "delay"; ms: number };

export interface DataApi {
  /** The endpoint of the Data API and of Secrets Manager. */
  url: string;
  secrets: Secrets;
  /** The operations received since the start or since this was last emptied, in order; the latest 10,000 of them. */
  calls: Call[];
  /** Replaces `intercept` at run time. */
  intercept(next: DataApiOptions["intercept"]): void;
  /**
   * Resets all idle connections, as happens while an execution environment is frozen: the client notices it with its
   * next request.
   */
  resetIdleConnections(): void;
  /** Closes the sessions on one database, so that it can be dropped. */
  closeDatabase(name: string): Promise<void>;
  close(): Promise<void>;
}

const routes = new Map<string, Operation>([
  ["/Execute", "ExecuteStatement"],
  ["/BatchExecute", "BatchExecuteStatement"],
  ["/BeginTransaction", "BeginTransaction"],
  ["/CommitTransaction", "CommitTransaction"],
  ["/RollbackTransaction", "RollbackTransaction"],
]);

interface Answer {
  status: number;
  text: string;
  errorType?: string;
  /** Half of the answer is sent, and then the connection is reset. */
  cut?: boolean;
}

/**
 * Starts an RDS Data API with the service's wire protocol (restJson1), which runs each statement on PostgreSQL as the
 * user of its secret, and the Secrets Manager that has these secrets.
 */
export async function startDataApi(options: DataApiOptions): Promise<DataApi> {
  const limits = { ...serviceLimits, ...options.limits };
  const sessions = openSessions(options.databaseUrl);
  const secrets = options.secrets ?? newSecrets(options.databaseUrl);
  const secretsManager = openSecrets(secrets);
  const operations = createOperations(sessions, secretsManager, limits);
  const verifiers = {
    "rds-data": verifier("rds-data", options.key),
    secretsmanager: verifier("secretsmanager", options.key),
  };
  const calls: Call[] = [];
  let intercept = options.intercept;

  const bodyOf = async (request: IncomingMessage, service: keyof typeof verifiers) => {
    if (isFromPage(request)) throw new ServiceError(403, "AccessDeniedException", "No web page may ask the Data API");
    const received = await receive(request, limits);
    const error = await verifiers[service](request, received);
    if (error) throw new ServiceError(403, ...signatureErrors(service)[error]);
    return readJson(received.toString());
  };

  /** The answer, or undefined where a fault breaks the connection instead. */
  const answer = async (request: IncomingMessage): Promise<Answer | undefined> => {
    const secretsOperation = secretsOperationOf(request);
    if (secretsOperation)
      return { status: 200, text: secretsManager.answer(secretsOperation, await bodyOf(request, "secretsmanager")) };
    const operation = operationOf(request);
    const body = await bodyOf(request, "rds-data");
    const call = callOf(operation, body, (calls.at(-1)?.number ?? 0) + 1, request);
    if (calls.push(call) > callsMax) calls.shift();
    const fault = await intercept?.(call);
    if (fault?.kind === "drop-before") return undefined;
    if (fault?.kind === "error") throw serviceErrorOf(fault);
    if (fault?.kind === "503") throw new ServiceError(503, "ServiceUnavailableError");
    if (fault?.kind === "throttle") throw new ServiceError(400, "ThrottlingException", "Rate exceeded");
    if (fault?.kind === "delay") await sleep(fault.ms);
    const run = () => operations[operation](parseRequest(operation, body, limits));
    if (fault?.kind === "late") return void fault.until.then(run).then(fault.done, fault.done);
    const text = await run();
    if (fault?.kind === "drop-after") return undefined;
    if (fault?.kind === "error-after") throw serviceErrorOf(fault);
    return { status: 200, text, cut: fault?.kind === "cut-body" };
  };

  const idle = new Set<Socket>();
  const stale = new WeakSet<Socket>();
  const server = createServer(async (request, response) => {
    const { socket } = request;
    if (stale.has(socket)) return void socket.resetAndDestroy();
    idle.delete(socket);
    response.once("close", () => socket.destroyed || idle.add(socket));
    const result = await answer(request).catch((error) => errorAnswer(translate(error)));
    if (!result) return response.destroy();
    if (options.latency) await sleep(options.latency);
    send(response, result);
  });
  server.on("connection", (socket) => {
    idle.add(socket);
    socket.once("close", () => idle.delete(socket));
  });
  // Longer than any client keeps an idle connection: otherwise it could be closed while a request is on its way.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(options.port ?? 0, "127.0.0.1", resolve);
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    secrets,
    calls,
    intercept: (next) => {
      intercept = next;
    },
    resetIdleConnections() {
      for (const socket of idle) stale.add(socket);
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

async function receive(request: IncomingMessage, limits: Limits): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = request.rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= limits.requestBytes) chunks.push(chunk);
  }
  if (bytes > limits.requestBytes) throw new ServiceError(413, "RequestEntityTooLargeException");
  return Buffer.concat(chunks);
}

function operationOf({ method, url = "" }: IncomingMessage): Operation {
  const operation = method === "POST" ? routes.get(url) : undefined;
  if (operation) return operation;
  // AWS, comparison of the Data API with Aurora Serverless v1.
  if (url === "/ExecuteSql")
    throw new ServiceError(400, "BadRequestException", "The ExecuteSql operation isn't supported");
  throw new ServiceError(404, "UnknownOperationException");
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const callsMax = 10_000;

/** One copy of each statement's text, because `calls` contains the same few statements many times. */
const statements = new Map<string, string>();

function shareText(sql: string): string {
  if (statements.size > 1000) statements.clear();
  if (!statements.has(sql)) statements.set(sql, sql);
  return statements.get(sql) ?? sql;
}

function callOf(operation: Operation, body: unknown, number: number, request: IncomingMessage): Call {
  const attempt = Number(/attempt=(\d+)/.exec(`${request.headers["amz-sdk-request"]}`)?.[1] ?? 1);
  const sql = typeof body === "object" && body !== null && "sql" in body ? body.sql : undefined;
  return { operation, number, attempt, ...(typeof sql === "string" ? { sql: shareText(sql) } : {}) };
}

const serviceErrorOf = ({ status, type, message }: { status: number; type: string; message?: string }) =>
  new ServiceError(status, type, message);

function errorAnswer({ status, type, message, members }: ServiceError): Answer {
  const body = { __type: type, code: type, ...(message && { message }), ...members };
  return { status, text: JSON.stringify(body), errorType: type };
}

function send(response: ServerResponse, { status, text, errorType, cut }: Answer): void {
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "x-amzn-requestid": crypto.randomUUID(),
    ...(errorType && { "x-amzn-errortype": errorType }),
  });
  if (cut) response.write(text.slice(0, text.length / 2), () => response.socket?.resetAndDestroy());
  else response.end(text);
}
