import sql from "sql-template-tag";
import * as z from "zod/mini";
import { retry } from "../../lib/aws/retry.ts";
import { execute, isTransient, text } from "../../lib/data-api/client.ts";
import { readPageWithin } from "../../lib/data-api/list.ts";
import { transaction } from "../../lib/data-api/transaction.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";
import { refusal } from "../../lib/operators/refusal.ts";
import { changeInWords, ledgerRow, type NameOf } from "../../lib/operators/undo/changes-in-words.ts";
import { readNames } from "../../lib/operators/undo/record-names.ts";
import * as changes from "../../lib/queries/changes.ts";

/**
 * Shows who changed what, in words, newest first, as many changes as fit into one result of the Data API. For the
 * following ones pass `next` as `before`; it is null after the last change.
 */
export const handler = operatorFunction("ops/list-changes", async (input, { deadline }) => {
  const { before, limit, raw, ...filters } = input;
  await checkKind(filters.record);
  const isSelected = filters.id !== undefined;
  const query = changes.list(filters, isSelected || raw);
  const after = before === undefined ? undefined : { id: before };
  // A statement for which nobody waits any more would go on, beside that of the next attempt.
  const read = () =>
    transaction(async (send) => {
      await send(sql`select set_config('statement_timeout', '10s', true)`);
      return await readPageWithin(send, query, { after, limit, deadline });
    });
  const page = await retry(read, isTransient, deadline);
  const rows = z.array(ledgerRow).parse(JSON.parse(`[${page.text}]`));
  const inWords = (nameOf: NameOf) =>
    rows.map((row) => ({ ...changeInWords(row, nameOf, isSelected), ...(raw && { rows: row.described.rows }) }));
  return { changes: await readNames(inWords, deadline), next: page.next?.id ?? null };
});

/** @throws unless the history has records of the kind that `contributor/5` names */
async function checkKind(record: string | number | undefined): Promise<void> {
  if (typeof record !== "string") return;
  const kinds = (await execute(changes.kinds())).map((row) => text(row, 0));
  const [kind = ""] = record.split("/");
  if (!kinds.includes(kind)) throw refusal(`There are no records of the kind ${kind}, but of ${kinds.join(", ")}`);
}
