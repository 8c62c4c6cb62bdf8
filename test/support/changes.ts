import type { ChangedRow, ListedChange as Listed } from "../../lib/operators/undo/changes-in-words.ts";
import type { Sql } from "./database.ts";
import { invoke } from "./invoke.ts";
import type { Stack } from "./stack.ts";
import type { Row, Rows } from "./undo.ts";

export interface ListedChange extends Listed {
  /** With `"raw": true`. */
  readonly rows?: readonly ChangedRow[] | null;
}

export interface Changes {
  readonly changes: readonly ListedChange[];
  readonly next: number | null;
}

/** Invokes ops-list-changes. */
export const listChanges = (stack: Pick<Stack, "lambda">, payload: object): Promise<Changes> =>
  invoke(stack, "ops-list-changes", payload);

/** The newest change; fails if there is none. */
export async function newestChange(stack: Pick<Stack, "lambda">, payload: object = {}): Promise<ListedChange> {
  const [change] = (await listChanges(stack, { ...payload, limit: 1 })).changes;
  if (!change) throw new Error("There is no change");
  return change;
}

/** Applies the history of a change to rows, or takes it back from them. */
export async function replayed(sql: Sql, rows: Rows, change: number, direction: "forth" | "back"): Promise<Rows> {
  const history = await sql`
    select
      table_name || ' ' || key::text as name, before, after,
      jsonb_build_object(listed.owner, row.owner) || (
        select jsonb_object_agg(name, key -> position::int - 1)
        from unnest(key_columns(table_name)) with ordinality as columns (name, position)
      ) as values
    from changed_rows as row join history_tables() as listed using (table_name)
    where change_id = ${change}
    order by id, position
  `;
  const result: Record<string, Row> = { ...rows };
  for (const { name, before, after, values } of direction === "forth" ? history : history.toReversed()) {
    const old = result[name];
    const now = direction === "forth" ? after : before;
    delete result[name];
    if (now) result[name] = { ...old, ...values, ...now };
  }
  return result;
}
