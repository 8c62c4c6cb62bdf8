import { nameLengthMax } from "../../lib/contract/parameters.ts";
import { repairFunction } from "../../lib/operators/repair-function.ts";

/**
 * Makes contributors one: the kept one gets what the merged ones have, which are deleted; their slugs lead to it
 * (lib/operators/README.md, "Merge").
 */
export const handler = repairFunction("ops/merge-contributors", async (input, { change }) => {
  const { result } = await change("merge_contributors", { ...input, lengthMax: nameLengthMax });
  return result;
});
