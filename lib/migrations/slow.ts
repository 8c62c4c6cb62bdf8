import { setTimeout as sleep } from "node:timers/promises";
import { ExecuteStatementCommand } from "@aws-sdk/client-rds-data";
import sql, { raw } from "sql-template-tag";
import { isFault } from "../aws/retry.ts";
import { database, execute, integer } from "../data-api/client.ts";
import { longStatementClient, type Send, statementTimeout } from "../data-api/transaction.ts";
import { applyOnce } from "./migration-lock.ts";
import { runScript, type Script } from "./script.ts";
import type { Migration } from "./tables/all.ts";

/** A statement goes on in the database, and the function that watched it had to end. */
export class StillRunning extends Error {
  override readonly name = "StillRunning";
}

/**
 * The first line of a migration that takes longer than a call of the Data API: `-- slow: 2 hours`. So long it may take, as
 * PostgreSQL writes it.
 */
export const slowMark = /^-- slow: (\d+ (?:second|minute|hour)s?)\n/;

/** A statement whose outcome is unknown is run again: it has nothing left to do then, or fails again. */
const runsMax = 3;

/**
 * Runs the one statement of a slow migration outside a transaction, and watches it until it is done, also when another
 * process has begun it. It may run for hours, the Data API's calls for 45 s. So the statement is one that can be
 * repeated: it is done when a call of it succeeds, which it does at once after it has succeeded unnoticed.
 * @param endBy until when this process watches, by `performance.now()`
 * @returns whether it was applied now
 * @throws {StillRunning} when `endBy` comes first: a later run goes on watching
 */
export async function applySlowly(script: Migration, limit: string, endBy: number): Promise<boolean> {
  for (let runs = 1; runs <= runsMax; runs++) {
    let call: Promise<unknown> | undefined;
    const isNew = await applyOnce(script, async () => {
      if (await runOf(script, limit)) return false;
      if (performance.now() > endBy) throw new StillRunning(toBeContinued("has yet to run"));
      // It may have taken hours, so it is not begun again before an operator has read why it failed.
      if ((await dropInvalidIndex(script)) && runs > 1) throw new Error(failedUnnoticed);
      call = callWith(script);
      // Until others see it run, the lock keeps them from beginning it, too.
      for (;;) {
        const outcome = await Promise.race([call, sleep(visiblePauseInMilliseconds)]);
        if (outcome === "succeeded") return true;
        if (outcome || (await runOf(script, limit))) return false;
      }
    });
    if (isNew !== undefined) return isNew;
    // AWS does not document whether a statement continues if its caller has gone before the call timed out.
    await call;
    await watch(script, limit, endBy);
  }
  throw new Error(failedUnnoticed);
}

const failedUnnoticed =
  "its statement ended after its call, without success: PostgreSQL's log says why. The next run begins it anew";
const toBeContinued = (state: string) => `${state}; run ops-migrate or the deployment again, which goes on watching it`;

/**
 * An invalid index, which a run that failed has left, would count as one that exists.
 * @returns whether there was one
 */
async function dropInvalidIndex({ text }: Script): Promise<boolean> {
  const [, name] = /^create (?:unique )?index concurrently if not exists (\w+)/m.exec(text) ?? [];
  if (name === undefined) return false;
  const invalid = await execute(sql`
    select 1 from pg_index where indexrelid = to_regclass(${name}::text) and not indisvalid
  `);
  if (invalid.length > 0) await execute(raw(`drop index concurrently if exists ${name}`));
  return invalid.length > 0;
}

/** The first line, a comment, begins with the migration's path, by which PostgreSQL's list of sessions shows the run. */
const markOf = ({ path }: Script) => `-- ${path} `;

/** The script's statement that runs now, whichever process began it. */
async function runOf(script: Script, limit: string) {
  const [row] = await execute(sql`
    select
      pid,
      (extract(epoch from clock_timestamp() - query_start) / 60)::bigint,
      (clock_timestamp() - query_start > ${limit}::interval)::int
    from pg_stat_activity
    where datname = current_database() and state = 'active' and starts_with(query, ${markOf(script)}::text)
  `);
  return row && { processId: integer(row, 0), minutes: integer(row, 1), isOverdue: integer(row, 2) === 1 };
}

const visiblePauseInMilliseconds = 50;
const pauseMaxInMilliseconds = 5_000;

/** Watches the statement until it has ended, and cancels it when its time is over. */
async function watch(script: Script, limit: string, endBy: number): Promise<void> {
  for (let pause = visiblePauseInMilliseconds; ; pause = Math.min(2 * pause, pauseMaxInMilliseconds)) {
    const run = await runOf(script, limit);
    if (!run) return;
    if (run.isOverdue) {
      await execute(sql`select pg_cancel_backend(${run.processId}::int)`);
      throw new Error(`its statement took longer than ${limit} and was cancelled`);
    }
    if (performance.now() > endBy) throw new StillRunning(toBeContinued(`has been running for ${run.minutes} minutes`));
    await sleep(pause);
  }
}

/** @throws the statement's own error */
const callWith = (script: Script): Promise<"succeeded" | "unknown"> =>
  runScript({ ...script, text: markOf(script) + script.text }, sendSlowly).then(
    () => "succeeded",
    (error) => {
      if (isFault(error) || error.name === "StatementTimeoutException") return "unknown";
      throw error;
    },
  );

/** A statement of its own, which goes on when its call has timed out. */
const sendSlowly: Send = async (statement) => {
  const command = new ExecuteStatementCommand({ ...database, sql: statement.statement, continueAfterTimeout: true });
  const { records } = await longStatementClient().send(command, statementTimeout());
  return records ?? [];
};
