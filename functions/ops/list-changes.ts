import * as z from "zod/mini";
import { readPage } from "../../lib/data-api/list.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";
import { changeInWords, ledgerRow, type NameOf } from "../../lib/operators/undo/changes-in-words.ts";
import { readNames } from "../../lib/operators/undo/record-names.ts";
import * as changes from "../../lib/queries/changes.ts";

/**
 * Shows who changed what, in words, newest first, as many changes as fit into one result of the Data API. For the
 * following ones pass `next` as `before`; it is null after the last change.
 */
export const handler = operatorFunction("ops/list-changes", async (input, { deadline }) => {
  const { before, limit, raw, ...filters } = input;
  const isWhole = filters.id !== undefined;
  const after = before === undefined ? undefined : { id: before };
  const { text, next } = await readPage(changes.list(filters, isWhole || raw), { after, limit, deadline });
  const rows = z.array(ledgerRow).parse(JSON.parse(`[${text}]`));
  const inWords = (nameOf: NameOf) =>
    rows.map((row) => ({ ...changeInWords(row, nameOf, isWhole), ...(raw && { rows: row.described.rows }) }));
  return { changes: await readNames(inWords, deadline), next: next?.id ?? null };
});
