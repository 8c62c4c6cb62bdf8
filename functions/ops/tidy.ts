import * as z from "zod/mini";
import { execute, integer } from "../../lib/data-api/client.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";
import * as changes from "../../lib/queries/changes.ts";

/**
 * Deletes old data: rows of the ledger that are older than so many days, sessions that ended 30 days ago, cache tags of
 * three days ago, e-mail addresses that are not awaited any more, and the database functions of old releases. Safe to
 * run at any time. It also logs how much the ledger grew in the last day, for an alarm.
 */
export const handler = operatorFunction("ops/tidy", async ({ days }, { change, log }) => {
  const deleted: Record<string, number> = {};
  for (;;) {
    const { result } = await change("tidy", { days });
    const { isDone, ...counts } = batchSchema.parse(result);
    for (const [what, count] of Object.entries(counts)) deleted[what] = (deleted[what] ?? 0) + count;
    if (isDone) break;
  }
  const [row = []] = await execute(changes.bytesOfLastDay());
  log({ ledgerBytesOfLastDay: integer(row, 0) });
  return deleted;
});

const batchSchema = z.catchall(z.object({ isDone: z.boolean() }), z.number());
