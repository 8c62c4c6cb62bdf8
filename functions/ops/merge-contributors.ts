import * as z from "zod/mini";
import { nameLengthMax } from "../../lib/contract/parameters.ts";
import { repairFunction } from "../../lib/operators/repair-function.ts";
import { changedRow, rowsInWords } from "../../lib/operators/undo/changes-in-words.ts";
import { readNames } from "../../lib/operators/undo/record-names.ts";

/** What a dry run would do, by rows (lib/changes/merge-contributors.sql). */
const dryRun = z.looseObject({ rows: z.array(changedRow) });

/**
 * Makes contributors one: the kept one gets what the merged ones have, which are deleted; their slugs find it
 * (lib/operators/README.md, "Merge"). A dry run says in words what each row would become.
 */
export const handler = repairFunction("ops/merge-contributors", async (input, { change, deadline }) => {
  const { result } = await change("merge_contributors", { ...input, lengthMax: nameLengthMax });
  if (!input.dryRun) return result;
  const { rows, ...rest } = dryRun.parse(result);
  return { ...rest, what: await readNames((nameOf) => rowsInWords(rows, nameOf), deadline) };
});
