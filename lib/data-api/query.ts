import sql, { type Sql } from "sql-template-tag";
import { readText } from "./chunks.ts";
import { integer, integerOrNull, textOrNull } from "./client.ts";
import { type Guard, guarded, statusOf } from "./guard.ts";

/**
 * Reads a record by one statement. Only a body that exceeds a row of the Data API takes several.
 * @param query a select of its JSON as `body`; no row if there is none. For caches it also gives the `tags` of what it
 *   shows, with commas between them, and the `current_slug` of a record that was found by a former one. Behind a guard it
 *   may use `caller`, and instead gives the record's `version`, and a `warning` for the log
 */
export async function readRecord(query: Sql, guard: Guard | undefined, deadline: number) {
  const columns = guard ? sql`, version, warning` : sql`, tags, current_slug`;
  // `offset 0` makes PostgreSQL make the text once, and not wherever it is used.
  const select = sql`select cast(body as text) as text${columns} from (${query}) as record offset 0`;
  const found = await readText(guarded(guard, select), sql`, ${statusOf(guard)}${columns}`, deadline);
  const nothing = { body: null, caller: null, version: null, warning: null, tags: null, slug: null };
  if (found === undefined) return { ...nothing, status: 404 };
  const { text: body, row } = found;
  const status = integer(row, 0);
  return {
    ...nothing,
    status: status === 200 && body === null ? 404 : status,
    body,
    caller: integerOrNull(row, 1),
    ...(guard
      ? { version: integerOrNull(row, 2), warning: textOrNull(row, 3) }
      : { tags: textOrNull(row, 2), slug: textOrNull(row, 3) }),
  };
}
