import { readPage } from "../../lib/data-api/list.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";
import * as changes from "../../lib/queries/changes.ts";

/**
 * Shows who changed what, newest first, as many changes as fit into one result of the Data API. For the following ones
 * pass `next` as `before`; it is null after the last change.
 */
export const handler = operatorFunction("ops/list-changes", async ({ before, limit, ...filters }) => {
  const after = before === undefined ? undefined : { id: before };
  const { text, next } = await readPage(changes.list(filters), { after, limit });
  return { changes: JSON.parse(`[${text}]`), next: next?.id ?? null };
});
