import {
  BeginTransactionCommand,
  CommitTransactionCommand,
  RDSDataClient,
  RollbackTransactionCommand,
} from "@aws-sdk/client-rds-data";
import type { Sql } from "sql-template-tag";
import { type AttemptOptions, retry, timeouts } from "../aws/retry.ts";
import { client, commandOf, database, type Row } from "./client.ts";

export type Send = (statement: Sql) => Promise<readonly Row[]>;

/** A client for statements that no request waits for: of the other client's time-outs only this one is kept. */
export const longStatementClient = (): RDSDataClient =>
  new RDSDataClient({
    maxAttempts: 1,
    cacheMiddleware: true,
    requestHandler: { connectionTimeout: timeouts.connectionTimeout },
  });

/** The Data API ends a statement after 45 s (Data API, "Limits"). */
const statementTimeoutInMilliseconds = 50_000;

export const statementTimeout = (): AttemptOptions => ({
  abortSignal: AbortSignal.timeout(statementTimeoutInMilliseconds),
});

/**
 * A cluster that was paused for a day takes half a minute or more to resume. A new cluster rejects its first calls with
 * various errors, while its endpoint, its secret or its writer is missing. No statement has run at that point.
 */
const beginTimeoutInMilliseconds = 180_000;

/**
 * Runs statements in one transaction. It is only for work that one statement cannot do, since each statement is a call.
 * After an error it is rolled back at once, or by the Data API when it has been idle for 3 minutes. Only the beginning
 * is sent again: if the response to a statement or to the commit is lost, it may have succeeded. So the work has to record
 * that it is done, for a later run to see.
 * @param options abort the whole transaction; then the beginning is sent only once, too
 */
export async function transaction<Result>(
  work: (send: Send) => Promise<Result>,
  options?: AttemptOptions,
): Promise<Result> {
  const begin = (beginOptions?: AttemptOptions) => client.send(new BeginTransactionCommand(database), beginOptions);
  const { transactionId } = options
    ? await begin(options)
    : await retry(begin, () => true, performance.now() + beginTimeoutInMilliseconds);
  const { resourceArn, secretArn } = database;
  const open = { resourceArn, secretArn, transactionId };
  const transactionClient = longStatementClient();
  const send: Send = async (statement) => {
    const command = commandOf(statement, database, transactionId);
    const { records } = await transactionClient.send(command, options ?? statementTimeout());
    return records ?? [];
  };
  try {
    const result = await work(send);
    await transactionClient.send(new CommitTransactionCommand(open), options ?? statementTimeout());
    return result;
  } catch (error) {
    await transactionClient.send(new RollbackTransactionCommand(open), statementTimeout()).catch(() => undefined);
    throw error;
  }
}

/** Runs statements in one transaction, and takes back what they did. */
export async function rolledBack<Result>(work: (send: Send) => Promise<Result>): Promise<Result> {
  let result: { readonly value: Result } | undefined;
  try {
    return await transaction(async (send) => {
      result = { value: await work(send) };
      throw new Error("Rolled back");
    });
  } catch (error) {
    if (!result) throw error;
    return result.value;
  }
}
