import type { OperatorContext } from "../../lib/operators/operator-function.ts";
import { repairFunction } from "../../lib/operators/repair-function.ts";
import { importFile } from "../../lib/operators/transfer/import.ts";
import type { ImportReport } from "../../lib/operators/transfer/import-report.ts";

/**
 * Imports a catalogue from a file, from where an earlier run stopped. If `isDone` is false, time was over, and the next
 * run goes on. Refused lines are in the report, and all of them in the log; they change nothing.
 */
export const handler = repairFunction(
  "ops/import",
  async ({ seconds, ...input }, context): Promise<ImportReport> =>
    await importFile(input, { ...context, deadline: stopAt(context, seconds) }),
);

/** A batch that begins just before the deadline ends in time. */
const reserveInMilliseconds = 25_000;

const stopAt = ({ deadline }: OperatorContext, seconds = Number.POSITIVE_INFINITY): number =>
  Math.min(deadline - reserveInMilliseconds, performance.now() + 1_000 * seconds);
