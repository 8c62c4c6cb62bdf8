import { ExecuteStatementCommand, type Field, RDSDataClient } from "@aws-sdk/client-rds-data";
import { fromEnv } from "@aws-sdk/credential-provider-env";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { SignatureV4 } from "@smithy/signature-v4";
import type { Sql } from "sql-template-tag";
import {
  type AttemptOptions,
  deadlineFromNow,
  isClockError,
  isFault,
  type RequestTimeouts,
  retry,
  timeouts,
  usualTimeouts,
} from "../aws/retry.ts";
import { Sha256 } from "../aws/sha256.ts";
import { releaseMissing } from "./release.ts";

export type Row = readonly Field[];

// Lambda never changes the credentials of an environment; the SDK would read them twice a call.
const readCredentials = fromEnv();
let known: ReturnType<typeof readCredentials> | undefined;
const credentials = () => {
  known ??= readCredentials();
  return known;
};

const requestHandler = new NodeHttpHandler(timeouts);

/**
 * `retry` decides what is sent again, and for how long, so this strategy makes one attempt. The SDK's own would number
 * attempts and keep tokens for further ones. The SDK caches its middleware for all commands, since no command adds any.
 * Without this signer it would make one for each call.
 */
export const client = new RDSDataClient({
  credentials,
  signer: new SignatureV4({ service: "rds-data", region: process.env.AWS_REGION ?? "", credentials, sha256: Sha256 }),
  retryStrategy: { retry: (next, args) => next(args) },
  cacheMiddleware: true,
  requestHandler,
});

/** There is no logger, no report uses the user agent, and the Data API calls no function that could call this one. */
export const unusedMiddleware = ["loggerMiddleware", "getUserAgentMiddleware", "recursionDetectionMiddleware"];
for (const name of unusedMiddleware) client.middlewareStack.remove(name);

let { attemptInMilliseconds } = usualTimeouts;

/** Ends attempts as these time-outs say. The function of an endpoint sets it once, when it is loaded. */
export function limitAttempts(given: RequestTimeouts): void {
  ({ attemptInMilliseconds } = given);
  for (const option of ["requestTimeout", "socketTimeout"] as const)
    requestHandler.updateHttpClientConfig(option, attemptInMilliseconds);
}

/** Where a statement runs: the cluster, the secret of a login, and the database. */
export type Target = Readonly<typeof database>;

/** The function's own. */
export const database = {
  resourceArn: process.env.DATABASE_CLUSTER_ARN,
  secretArn: process.env.DATABASE_SECRET_ARN,
  database: process.env.DATABASE_NAME,
};

/** The database resumes, fails over, changes its password, is too busy for a statement, or lost a transaction. */
const transientErrors = new Set([
  "DatabaseResumingException",
  "InvalidResourceStateException",
  "InvalidSecretException",
  "StatementTimeoutException",
  "TransactionNotFoundException",
]);
/**
 * SQLSTATEs of PostgreSQL: a lost connection, a password that is being changed, exhausted resources, a server that stops
 * or starts, a lock time-out, a serialization failure, a deadlock, a writer that has become a reader.
 */
const transientStates = /^(?:08|28|53|57P0[123]$|55P03$|40001$|40P01$|25006$)/;

/** Whether the same statement may succeed later. */
export const isTransient = (error: unknown): boolean =>
  isFault(error) ||
  isConnectionLoss(error) ||
  (error instanceof Error && transientErrors.has(error.name)) ||
  transientStates.test(sqlStateOf(error) ?? "");

/** The Data API lost its connection to the database, which only the message shows ("Communications link failure"). */
const isConnectionLoss = (error: unknown): boolean =>
  error instanceof Error &&
  error.name === "BadRequestException" &&
  /communications link|connection|I\/O error/i.test(error.message);

const refusals = new Set(["DatabaseResumingException", "InvalidSecretException", "ThrottlingException"]);
const connectionStates = /^(?:08|57P)/;
const unreachable = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/;

/** Whether this error proves that the statement has not run and will not: it was rolled back, or never began. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const state = sqlStateOf(error);
  if (state !== undefined) return !connectionStates.test(state);
  return refusals.has(error.name) || isClockError(error) || ("code" in error && unreachable.test(String(error.code)));
}

/**
 * Runs one statement and returns its rows. It is sent again until there is a response: a read may run twice. Each value
 * is a parameter, named by its position.
 * @throws {Unavailable} when there is no response before the deadline
 */
export const execute = (statement: Sql, deadline = deadlineFromNow(), target = database): Promise<readonly Row[]> =>
  retry((options) => send(statement, options, target), isTransient, deadline, attemptInMilliseconds);

/** Sends a statement once. */
export async function send(statement: Sql, options?: AttemptOptions, target = database): Promise<readonly Row[]> {
  try {
    const { records } = await client.send(commandOf(statement, target), options);
    return records ?? [];
  } catch (error) {
    throw sqlStateOf(error) === schemaMissing ? new Error(releaseMissing, { cause: error }) : error;
  }
}

const schemaMissing = "3F000";

/** The Data API binds text as text, and numbers as bigint or double. So statements cast each parameter to its type. */
export const commandOf = ({ statement: sql, values }: Sql, target: Target, transactionId?: string) =>
  new ExecuteStatementCommand({
    ...target,
    transactionId,
    sql,
    parameters: values.map((value, index) => ({ name: String(index + 1), value: field(value) })),
  });

/** `null` is a value; `undefined` is a programming error. */
function field(value: unknown): Field {
  switch (typeof value) {
    case "string":
      return { stringValue: value };
    case "number":
      return Number.isSafeInteger(value) ? { longValue: value } : { doubleValue: value };
    case "boolean":
      return { booleanValue: value };
    default:
      if (value === null) return { isNull: true };
      throw new TypeError(`A statement cannot carry ${typeof value}`);
  }
}

/* A column is read by its index and type; another type is a programming error in the statement. */

export const text = (row: Row, column: number): string => present(textOrNull(row, column), column);

export function textOrNull(row: Row, column: number): string | null {
  const field = row[column];
  if (field?.isNull) return null;
  if (field?.stringValue === undefined) throw new TypeError(`Column ${column} is no text`);
  return field.stringValue;
}

export const integer = (row: Row, column: number): number => present(integerOrNull(row, column), column);

export function integerOrNull(row: Row, column: number): number | null {
  const field = row[column];
  if (field?.isNull) return null;
  if (field?.longValue === undefined) throw new TypeError(`Column ${column} is no integer`);
  return field.longValue;
}

function present<Value>(value: Value | null, column: number): Value {
  if (value === null) throw new TypeError(`Column ${column} is null`);
  return value;
}

const databaseErrors = new Set(["DatabaseErrorException", "BadRequestException"]);

/** The SQLSTATE of PostgreSQL's error: the end of the message (RDS Data API, DatabaseErrorException). */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !databaseErrors.has(error.name)) return undefined;
  return /SQLState: ([0-9A-Z]{5})$/.exec(error.message)?.[1];
}

/** Whether PostgreSQL refused the user or the password of a secret. */
export const isLoginRefused = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === "InvalidSecretException" ||
    sqlStateOf(error)?.startsWith("28") === true ||
    error.message.includes("password authentication failed"));
