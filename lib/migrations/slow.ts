import { setTimeout as sleep } from "node:timers/promises";
import { ExecuteStatementCommand, RDSDataClient } from "@aws-sdk/client-rds-data";
import sql, { raw } from "sql-template-tag";
import { isFault, timeouts } from "../aws/retry.ts";
import { database, execute } from "../data-api/client.ts";
import { integer } from "../data-api/read.ts";
import type { Send } from "../data-api/transaction.ts";
import { withMigrationLock } from "./migration-lock.ts";
import { runScript, type Script } from "./script.ts";

/** A statement goes on in the database, and the function that watched it had to end. */
export class StillRunning extends Error {
  override readonly name = "StillRunning";
}

/** The first line of a migration that takes longer than a call of the Data API: `-- slow: 2 hours`. */
export const slowMark = /^-- slow: (\d+) (second|minute|hour)s?\n/;

const millisecondsOf: Readonly<Record<string, number>> = { second: 1_000, minute: 60_000, hour: 3_600_000 };

/** How long a slow migration may take, in milliseconds; undefined for any other. */
export function limitOf(text: string): number | undefined {
  const [, amount, unit] = slowMark.exec(text) ?? [];
  return unit === undefined ? undefined : Number(amount) * (millisecondsOf[unit] ?? 0);
}

export interface SlowMigration {
  readonly script: Script;
  readonly limitInMilliseconds: number;
  readonly isApplied: (send: Send) => Promise<boolean>;
  readonly record: (send: Send) => Promise<void>;
}

/** The Data API's call that began the statement. */
interface Call {
  readonly ended: Promise<void>;
  /** What it ended with, "unknown" if the call broke off or timed out. */
  outcome: "pending" | "unknown" | "succeeded" | Error;
}

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
export async function applySlowly(migration: SlowMigration, endBy: number): Promise<boolean> {
  const { script, isApplied, record } = migration;
  for (let runs = 1; runs <= runsMax; runs++) {
    if (runs === 1) await withMigrationLock((send) => dropInvalidIndex(migration, send));
    const begun = await withMigrationLock(async (send) => {
      if (await isApplied(send)) return "applied before";
      if (await runOf(script)) return {};
      if (runs > 1 && (await invalidIndexOf(script, send))) throw new Error(failedUnnoticed);
      if (performance.now() > endBy) throw new StillRunning(toBeContinued("has yet to run"));
      const call = callWith(script);
      // Until others see it run, the lock keeps them from beginning it, too.
      do await pauseDuring(call, visiblePauseInMilliseconds);
      while (call.outcome === "pending" && !(await runOf(script)));
      if (call.outcome !== "succeeded") return { call };
      await record(send);
      return "applied now";
    });
    if (typeof begun === "string") return begun === "applied now";
    await watch(migration, begun.call, endBy);
  }
  throw new Error(failedUnnoticed);
}

const failedUnnoticed =
  "its statement ended after its call, without success: PostgreSQL's log says why. The next run begins it anew";
const toBeContinued = (state: string) => `${state}; run ops-migrate or the deployment again, which goes on watching it`;

/** An invalid index, which a run that failed has left, would count as one that exists. */
async function dropInvalidIndex({ script, isApplied }: SlowMigration, send: Send): Promise<void> {
  if ((await isApplied(send)) || (await runOf(script)) || !(await invalidIndexOf(script, send))) return;
  await send(sql`set local lock_timeout = '3s'`);
  await send(raw(`drop index ${indexOf(script)}`));
}

async function invalidIndexOf(script: Script, send: Send): Promise<boolean> {
  const name = indexOf(script);
  if (name === undefined) return false;
  const rows = await send(sql`
    select 1 from pg_index where indexrelid = to_regclass(${name}::text) and not indisvalid
  `);
  return rows.length > 0;
}

const indexOf = ({ text }: Script) => /^create (?:unique )?index concurrently if not exists (\w+)/m.exec(text)?.[1];

/** The first line, a comment, begins with the migration's path, by which PostgreSQL's list of sessions shows the run. */
const marked = ({ path, text }: Script): Script => ({ path, text: `${markOf(path)}${text}` });
const markOf = (path: string) => `-- ${path} `;

interface Run {
  readonly processId: number;
  readonly milliseconds: number;
}

/** The script's statement that runs now, whichever process began it. */
async function runOf({ path }: Script): Promise<Run | undefined> {
  const [row] = await execute(sql`
    select pid, (1000 * extract(epoch from clock_timestamp() - query_start))::bigint
    from pg_stat_activity
    where datname = current_database() and state = 'active' and starts_with(query, ${markOf(path)}::text)
  `);
  return row && { processId: integer(row, 0), milliseconds: integer(row, 1) };
}

const visiblePauseInMilliseconds = 50;
const pauseMaxInMilliseconds = 5_000;

/** Watches the statement until it has ended, and cancels it when its time is over. */
async function watch({ script, limitInMilliseconds }: SlowMigration, call: Call | undefined, endBy: number) {
  for (let pause = visiblePauseInMilliseconds; ; pause = Math.min(2 * pause, pauseMaxInMilliseconds)) {
    if (call?.outcome instanceof Error) throw call.outcome;
    const run = await runOf(script);
    if (!run && call?.outcome !== "pending") return;
    if (run && run.milliseconds > limitInMilliseconds) {
      await execute(sql`select pg_cancel_backend(${run.processId}::int)`);
      throw new Error(`its statement took longer than ${limitInMilliseconds / 1_000} s and was cancelled`);
    }
    if (run && performance.now() > endBy) {
      // AWS does not document whether a statement continues if its caller has gone before the call timed out.
      await call?.ended;
      throw new StillRunning(toBeContinued(`has been running for ${Math.round(run.milliseconds / 60_000)} minutes`));
    }
    await pauseDuring(call, pause);
  }
}

/** Waits, no longer than until the call has ended. */
const pauseDuring = (call: Call | undefined, milliseconds: number): Promise<void> =>
  call?.outcome === "pending" ? Promise.race([call.ended, sleep(milliseconds)]) : sleep(milliseconds);

function callWith(script: Script): Call {
  const outcome = runScript(marked(script), sendSlowly).then(
    () => "succeeded" as const,
    (error) => (isFault(error) || error.name === "StatementTimeoutException" ? ("unknown" as const) : error),
  );
  const call: Call = {
    outcome: "pending",
    ended: outcome.then((outcome) => {
      call.outcome = outcome;
    }),
  };
  return call;
}

/** The Data API responds after 45 s at the latest (Data API, "Limits"). */
const callTimeoutInMilliseconds = 50_000;

/** A statement of its own, which goes on when its call has timed out. */
const sendSlowly: Send = async (statement) => {
  const client = new RDSDataClient({
    maxAttempts: 1,
    requestHandler: { connectionTimeout: timeouts.connectionTimeout },
  });
  const command = new ExecuteStatementCommand({ ...database, sql: statement.statement, continueAfterTimeout: true });
  const { records } = await client.send(command, { abortSignal: AbortSignal.timeout(callTimeoutInMilliseconds) });
  return records ?? [];
};
