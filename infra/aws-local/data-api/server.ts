import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listenToClients } from "../http/listen.ts";
import { sendJson } from "../http/send-json.ts";
import { ServiceError } from "../http/service-error.ts";
import type { Key } from "../http/signature.ts";
import { bodyReader } from "../http/signed-body.ts";
import { masterSecret, openSecrets, type Secrets, secretsOperationOf } from "../secrets-manager/secrets-manager.ts";
import { translate } from "./errors.ts";
import { type Limits, serviceLimits } from "./limits.ts";
import { operations, type Service } from "./operations.ts";
import { checkLengths, type Operation, type Request, typed } from "./requests.ts";
import { openSessions } from "./sessions.ts";
import { openTransactions } from "./transactions.ts";

export interface DataApiOptions {
  /** PostgreSQL server without database, `postgres://user:password@host:port`; each request names its database. */
  databaseUrl: string;
  /** Default: the secret of the URL's user. */
  secrets?: Secrets;
  /** The key that requests must be signed with. */
  key: Key;
  /** Default: a free port, on 127.0.0.1. */
  port?: number;
  limits?: Partial<Limits>;
  /** Runs each operation, or deals with the response itself: so tests observe and break calls. */
  intercept?: Interceptor;
}

/** A request whose operation has not run yet. */
export interface Operating {
  readonly operation: Operation;
  readonly input: Request;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Returns the text of the response; undefined if the response needs nothing more. */
export type Interceptor = (operating: Operating, run: () => Promise<string>) => Promise<string | undefined>;

const routes = new Map<string, Operation>([
  ["/Execute", "ExecuteStatement"],
  ["/BeginTransaction", "BeginTransaction"],
  ["/CommitTransaction", "CommitTransaction"],
  ["/RollbackTransaction", "RollbackTransaction"],
]);

/**
 * Starts an RDS Data API with the service's wire protocol (restJson1), which runs each statement on PostgreSQL as the
 * user of its secret, and the Secrets Manager that has these secrets.
 */
export async function startDataApi(options: DataApiOptions) {
  const limits = { ...serviceLimits, ...options.limits };
  const sessions = openSessions(options.databaseUrl);
  const secretsManager = openSecrets(options.secrets ?? masterSecret(options.databaseUrl));
  const service: Service = {
    sessions,
    transactions: openTransactions(sessions, limits),
    limits,
    loginOf: ({ secretArn = "", database = "postgres" }) => ({ database, ...secretsManager.credentialsOf(secretArn) }),
  };
  const tooLarge = [413, "RequestEntityTooLargeException"] as const;
  const readers = {
    "rds-data": bodyReader("rds-data", options.key, ...tooLarge),
    secretsmanager: bodyReader("secretsmanager", options.key, ...tooLarge),
  };
  const { intercept = (_, run) => run() } = options;

  const bodyOf = async (request: IncomingMessage, signedFor: keyof typeof readers) => {
    const headerBytes = request.rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
    return readJson((await readers[signedFor](request, limits.requestBytes - headerBytes)).toString());
  };

  /** Undefined if the response needs nothing more. */
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<string | undefined> => {
    const secretsOperation = secretsOperationOf(request);
    if (secretsOperation) return secretsManager.respond(secretsOperation, await bodyOf(request, "secretsmanager"));
    const operation = operationOf(request);
    const input = typed(await bodyOf(request, "rds-data"));
    return await intercept({ operation, input, request, response }, async () => {
      checkLengths(operation, input, limits);
      return await operations[operation](service, input);
    });
  };

  const server = createServer(async (request, response) => {
    try {
      const text = await respond(request, response);
      if (text !== undefined) sendJson(response, 200, text);
    } catch (error) {
      sendError(response, translate(error));
    }
  });
  const { url, close } = await listenToClients(server, options.port);

  return {
    /** The endpoint of the Data API and of Secrets Manager. */
    url,
    async close() {
      await close();
      await sessions.close();
    },
  };
}

function operationOf({ method, url = "" }: IncomingMessage): Operation {
  const operation = method === "POST" ? routes.get(url) : undefined;
  if (operation) return operation;
  throw new ServiceError(404, "UnknownOperationException");
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sendError(response: ServerResponse, { status, type, message, members }: ServiceError): void {
  const body = { __type: type, code: type, ...(message && { message }), ...members };
  sendJson(response, status, JSON.stringify(body), { "x-amzn-errortype": type });
}
