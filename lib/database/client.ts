import { ExecuteStatementCommand, type Field, RDSDataClient, type SqlParameter } from "@aws-sdk/client-rds-data";
import type { Sql } from "sql-template-tag";
import { attempts, isFault, patient, persist } from "../retry.ts";
import { sqlStateOf } from "./errors.ts";
import { unreleased } from "./release.ts";

export type Row = readonly Field[];

/**
 * One attempt per send: what is sent again, and for how long, is decided in one place. What the SDK does about a command
 * is put together once, not for each: nothing is added to it later.
 */
export const client = new RDSDataClient({ maxAttempts: 1, cacheMiddleware: true, requestHandler: attempts });

/** Where every statement goes. */
export const database = {
  resourceArn: process.env.DATABASE_CLUSTER_ARN,
  secretArn: process.env.DATABASE_SECRET_ARN,
  database: process.env.DATABASE_NAME,
};

/** Resumes, fails over, changes its password, had too much to do for this statement, or has forgotten a transaction. */
const passing = new Set([
  "DatabaseResumingException",
  "InvalidResourceStateException",
  "InvalidSecretException",
  "StatementTimeoutException",
  "TransactionNotFoundException",
]);
/**
 * Of PostgreSQL: connections lost and exhausted resources, a server that stops or starts, a lock not had in time, a
 * transaction rolled back for others' sake, a writer that has become a reader.
 */
const passingStates = /^(?:08|53|57P0[123]$|55P03$|40001$|40P01$|25006$)/;

/** Whether it may well work the next time. */
export const mayPass = (error: unknown): boolean =>
  isFault(error) || (error instanceof Error && passing.has(error.name)) || passingStates.test(sqlStateOf(error) ?? "");

/**
 * Sends one statement, again and again until it is answered, and gives its rows: a read may run twice, and a write knows
 * its request. Every value travels as a parameter named by its position.
 * @throws {Unavailable} when there is no answer until the deadline
 */
export async function execute(statement: Sql, deadline = patient()): Promise<readonly Row[]> {
  const command = new ExecuteStatementCommand({
    ...database,
    sql: statement.statement,
    parameters: statement.values.map(parameter),
  });
  try {
    const { records } = await persist((attempt) => client.send(command, attempt), mayPass, deadline);
    return records ?? [];
  } catch (error) {
    throw sqlStateOf(error) === schemaMissing ? new Error(unreleased, { cause: error }) : error;
  }
}

const schemaMissing = "3F000";

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
