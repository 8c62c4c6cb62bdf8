import {
  BeginTransactionCommand,
  CommitTransactionCommand,
  ExecuteStatementCommand,
  RDSDataClient,
  RollbackTransactionCommand,
} from "@aws-sdk/client-rds-data";
import type { Sql } from "sql-template-tag";
import { type Attempt, attempts, persist } from "../retry.ts";
import { client, database, parameter, type Row } from "./client.ts";

export type Send = (statement: Sql) => Promise<readonly Row[]>;

const { resourceArn, secretArn } = database;

/** Nobody waits at API Gateway for a transaction; the Data API ends a statement after 45 s (Data API, "Limits"). */
const statementInMilliseconds = 50_000;

/** Statements here may take longer than the other client waits for any. */
const { connectionTimeout } = attempts;

const patiently = (): Attempt => ({ abortSignal: AbortSignal.timeout(statementInMilliseconds) });

/**
 * A cluster that has been paused for a day takes half a minute and more to resume. One that was just made refuses its
 * first calls in several ways: its endpoint, its secret or its writer is not there yet. Nothing has run at that point.
 */
const beginningInMilliseconds = 180_000;

/**
 * Runs statements in one transaction: all of them hold, or none. Only for what one statement cannot do, since each
 * costs a call. What fails is rolled back at once, or by the service when the transaction has been idle for 3 minutes.
 * Nothing but the beginning is sent again: a statement whose answer is lost may have run, and a commit may hold. So the
 * work has to leave a mark by which a later run sees that it is done.
 * @param attempt what ends all of it, the beginning included, which is not sent again then
 */
export async function transaction<Result>(work: (send: Send) => Promise<Result>, attempt?: Attempt): Promise<Result> {
  const begin = (beginning?: Attempt) => client.send(new BeginTransactionCommand(database), beginning);
  const { transactionId } = attempt
    ? await begin(attempt)
    : await persist(begin, () => true, Date.now() + beginningInMilliseconds);
  const lasting = new RDSDataClient({ maxAttempts: 1, requestHandler: { connectionTimeout } });
  const send: Send = async (statement) => {
    const { records } = await lasting.send(
      new ExecuteStatementCommand({
        ...database,
        transactionId,
        sql: statement.statement,
        parameters: statement.values.map(parameter),
      }),
      attempt ?? patiently(),
    );
    return records ?? [];
  };
  try {
    const result = await work(send);
    await lasting.send(new CommitTransactionCommand({ resourceArn, secretArn, transactionId }), attempt ?? patiently());
    return result;
  } catch (error) {
    await lasting
      .send(new RollbackTransactionCommand({ resourceArn, secretArn, transactionId }), patiently())
      .catch(() => undefined);
    throw error;
  }
}
