import {
  BeginTransactionCommand,
  CommitTransactionCommand,
  ExecuteStatementCommand,
  RollbackTransactionCommand,
} from "@aws-sdk/client-rds-data";
import type { Sql } from "sql-template-tag";
import { client, database, parameter, persist, type Row } from "./client.ts";

export type Send = (statement: Sql) => Promise<readonly Row[]>;

const { resourceArn, secretArn } = database;

/** Nobody waits at API Gateway for a transaction; the Data API ends a statement after 45 s (Data API, "Limits"). */
const patient = { requestTimeout: 50_000 };

/**
 * A cluster that has been paused for a day takes half a minute and more to resume. One that was just made refuses its
 * first calls in several ways: its endpoint, its secret or its writer is not there yet. Nothing has run at that point.
 */
const beginningInMilliseconds = 180_000;

/**
 * Runs statements in one transaction: all of them hold, or none. Only for what one statement cannot do, since each
 * costs a call. What fails is rolled back at once, or by the service when the transaction has been idle for 3 minutes.
 */
export async function transaction<Result>(work: (send: Send) => Promise<Result>): Promise<Result> {
  const { transactionId } = await persist(
    () => client.send(new BeginTransactionCommand(database)),
    () => "until the deadline",
    beginningInMilliseconds,
  );
  const send: Send = async (statement) => {
    const { records } = await client.send(
      new ExecuteStatementCommand({
        ...database,
        transactionId,
        sql: statement.statement,
        parameters: statement.values.map(parameter),
      }),
      patient,
    );
    return records ?? [];
  };
  try {
    const result = await work(send);
    await client.send(new CommitTransactionCommand({ resourceArn, secretArn, transactionId }), patient);
    return result;
  } catch (error) {
    await client.send(new RollbackTransactionCommand({ resourceArn, secretArn, transactionId })).catch(() => undefined);
    throw error;
  }
}
