import { importFile, type Report } from "../../lib/operators/import.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";

/**
 * Imports a catalogue from a file, from where an earlier run stopped. If `isDone` is false, time was over, and the next
 * run goes on. Refused lines are in the report, and all of them in the log; they change nothing.
 */
export const handler = operatorFunction(
  "ops/import",
  async ({ format: _, ...input }, context): Promise<Report> => await importFile(input, context),
);
