import { setTimeout as sleep } from "node:timers/promises";
import { ExecuteStatementCommand, type Field, RDSDataClient, type SqlParameter } from "@aws-sdk/client-rds-data";
import type { Sql } from "sql-template-tag";
import { DatabaseUnavailable } from "./errors.ts";

export type Row = readonly Field[];

/** One attempt per send: only this module knows what may be sent twice. */
export const client = new RDSDataClient({
  maxAttempts: 1,
  // A Lambda behind API Gateway has 29 s; a database that has not answered by then will not be heard.
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 26_000, throwOnRequestTimeout: true },
});

/** Where every statement goes. */
export const database = {
  resourceArn: process.env.DATABASE_CLUSTER_ARN,
  secretArn: process.env.DATABASE_SECRET_ARN,
  database: process.env.DATABASE_NAME,
};

/** A paused cluster takes about 15 s to resume; API Gateway would not wait for more than 29 s. */
const visitorsPatienceInMilliseconds = 20_000;
const pausesInMilliseconds = [100, 250, 500, 1_000, 2_000];

/** Refused before anything ran: safe to send again, reads and writes alike. */
const refusedUnrun = new Set(["DatabaseResumingException", "ThrottlingException", "TooManyRequestsException"]);
/** The statement was rolled back by PostgreSQL: serialization failure, deadlock. */
const rolledBack = /SQLState: (40001|40P01)$/;

type Retry = "no" | "a few times" | "until the deadline";

/**
 * Sends until it is answered, within the bound of patience.
 * @param verdict whether to send again after this many failures, the last of which is given
 * @throws {DatabaseUnavailable} when the deadline ends what was to be sent until then
 */
export async function persist<Output>(
  send: () => Promise<Output>,
  verdict: (error: unknown, failures: number) => Retry,
  patienceInMilliseconds: number,
): Promise<Output> {
  const deadline = Date.now() + patienceInMilliseconds;
  for (let attempt = 0; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      const retry = verdict(error, attempt + 1);
      if (retry === "no") throw error;
      const pause = pausesInMilliseconds[Math.min(attempt, pausesInMilliseconds.length - 1)] ?? 0;
      if (Date.now() + pause > deadline) {
        throw retry === "until the deadline"
          ? new DatabaseUnavailable(`No answer in time: ${error}`, { cause: error })
          : error;
      }
      await sleep(pause);
    }
  }
}

const faultAttemptsMax = 3;

/** A write is sent again only when it certainly did not run; a read also after a fault of the service or the network. */
const verdictOf =
  (repeatable: boolean) =>
  (error: unknown, failures: number): Retry => {
    if (!(error instanceof Error)) return "no";
    if (refusedUnrun.has(error.name)) return "until the deadline";
    if (failures >= faultAttemptsMax) return "no";
    if (rolledBack.test(error.message)) return "a few times";
    return repeatable && isFault(error) ? "a few times" : "no";
  };

/** The service failed (5xx) or the connection broke: nobody knows whether the statement ran. */
function isFault(error: Error): boolean {
  if ("$metadata" in error && isRecord(error.$metadata) && typeof error.$metadata.httpStatusCode === "number") {
    return error.$metadata.httpStatusCode >= 500;
  }
  return "code" in error || error.name === "TimeoutError";
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Sends one statement and gives its rows. Every value travels as a parameter named by its position. */
export async function execute(statement: Sql, repeatable: boolean): Promise<readonly Row[]> {
  const command = new ExecuteStatementCommand({
    ...database,
    sql: statement.statement,
    parameters: statement.values.map(parameter),
  });
  const { records } = await persist(() => client.send(command), verdictOf(repeatable), visitorsPatienceInMilliseconds);
  return records ?? [];
}

/** Text binds as text and numbers as bigint or double, so statements cast every parameter to its type. */
export function parameter(value: unknown, index: number): SqlParameter {
  return { name: String(index + 1), value: field(value) };
}

/** `null` is a value, `undefined` is a mistake. */
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
