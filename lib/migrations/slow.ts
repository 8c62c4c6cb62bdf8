import { setTimeout as sleep } from "node:timers/promises";
import { ExecuteStatementCommand } from "@aws-sdk/client-rds-data";
import sql, { raw } from "sql-template-tag";
import { isFault } from "../aws/retry.ts";
import { database, execute, text } from "../data-api/client.ts";
import { longStatementClient, type Send, statementTimeout } from "../data-api/transaction.ts";
import { applyOnce } from "./migration-lock.ts";
import { runScript, type Script } from "./script.ts";
import type { Migration } from "./tables/all.ts";

/** The first line of a migration that takes longer than a call of the Data API. */
export const slowMark = /^-- slow\n/;

const pauseInMilliseconds = 1_000;

const goesOn = "its statement goes on in the database; run ops-migrate or the deployment again when it has ended";
const failedUnnoticed =
  "its statement ended after its call, without success: PostgreSQL's log says why. The next run begins it anew";

/**
 * Runs the one statement of a slow migration outside a transaction, and waits until it has ended. The Data API ends a
 * call after 45 s, and then the outcome is unknown. So the statement is one that can be repeated: sent again, it
 * succeeds at once if it has succeeded before.
 * @param endBy until when this run waits, by `performance.now()`
 * @returns whether it was applied now
 * @throws when it goes on, because of this run or another one
 */
export async function applySlowly(migration: Migration, endBy: number): Promise<boolean> {
  // The lock lasts as long as the call. A later run sees the statement.
  const applied = await applyOnce(migration, async () => {
    if (await isRunning(migration)) throw new Error(goesOn);
    const index = await invalidIndexOf(migration);
    if (index) await execute(raw(`drop index concurrently if exists ${index}`));
    return await succeeds(migration);
  });
  if (applied !== undefined) return applied;
  while (await isRunning(migration)) {
    if (performance.now() > endBy) throw new Error(goesOn);
    await sleep(pauseInMilliseconds);
  }
  // It may have taken minutes, so it is not begun again before an operator has read why it failed.
  const repeated = await applyOnce(
    migration,
    async () => !(await invalidIndexOf(migration)) && (await succeeds(migration)),
  );
  if (repeated === undefined) throw new Error(failedUnnoticed);
  return repeated;
}

/** The name of an invalid index, which a run that failed has left: `if not exists` would take it for the index. */
async function invalidIndexOf({ text: statement }: Script): Promise<string | undefined> {
  const [, name = ""] = /^create (?:unique )?index concurrently if not exists (\w+)/m.exec(statement) ?? [];
  const [row] = await execute(sql`
    select indexrelid::regclass::text from pg_index where indexrelid = to_regclass(${name}::text) and not indisvalid
  `);
  return row && text(row, 0);
}

/** The first line, a comment, begins with the migration's path, by which PostgreSQL's list of sessions shows the run. */
const markOf = ({ path }: Script) => `-- ${path} `;

async function isRunning(script: Script): Promise<boolean> {
  const sessions = await execute(sql`
    select 1
    from pg_stat_activity
    where datname = current_database() and state = 'active' and starts_with(query, ${markOf(script)}::text)
  `);
  return sessions.length > 0;
}

/**
 * @returns false if the outcome is unknown: the statement may go on
 * @throws the statement's error
 */
async function succeeds(script: Script): Promise<boolean> {
  try {
    await runScript({ ...script, text: markOf(script) + script.text }, sendSlowly);
    return true;
  } catch (error) {
    if (isFault(error) || (error instanceof Error && error.name === "StatementTimeoutException")) return false;
    throw error;
  }
}

/** A statement of its own, which goes on when its call has timed out. */
const sendSlowly: Send = async (statement) => {
  const command = new ExecuteStatementCommand({ ...database, sql: statement.statement, continueAfterTimeout: true });
  const { records } = await longStatementClient().send(command, statementTimeout());
  return records ?? [];
};
