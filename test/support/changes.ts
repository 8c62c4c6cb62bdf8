import type { ChangedRow, ListedChange as Listed } from "../../lib/operators/changes-in-words.ts";
import { identifier, type Sql } from "./database.ts";
import type { Stack } from "./stack.ts";

export interface ListedChange extends Listed {
  /** With `"raw": true`. */
  readonly rows?: readonly ChangedRow[] | null;
}

export interface Changes {
  readonly changes: readonly ListedChange[];
  readonly next: number | null;
}

/** Invokes ops-list-changes. */
export async function listChanges({ lambda }: Pick<Stack, "lambda">, payload: object): Promise<Changes> {
  const invocation = await lambda.invoke("ops-list-changes", payload);
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.result as Changes;
}

/** The newest change; fails if there is none. */
export async function newestChange(stack: Pick<Stack, "lambda">, payload: object = {}): Promise<ListedChange> {
  const [change] = (await listChanges(stack, { ...payload, limit: 1 })).changes;
  if (!change) throw new Error("There is no change");
  return change;
}

interface RecordedTable {
  readonly table_name: string;
  readonly kind: string;
  readonly owner: string;
  readonly keys: readonly string[];
  /** What triggers or PostgreSQL keep, and the version. */
  readonly ignored: readonly string[];
}

type Values = Readonly<Record<string, unknown>>;
/** By table and primary key; `record` is the record that a row belongs to. */
export type Rows = ReadonlyMap<string, Values & { readonly record: string }>;

const rowKey = (table: string, key: readonly unknown[]) => JSON.stringify([table, ...key]);

const recordedTables = (sql: Sql) => sql<RecordedTable[]>`
  select
    table_name, kind, owner,
    array(
      select cast(attname as text)
      from pg_index join pg_attribute on attrelid = indrelid and attnum = any(indkey)
      where indrelid = cast(table_name as regclass) and indisprimary
      order by array_position(cast(indkey as smallint[]), attnum)
    ) as keys,
    derived || text 'version' || array(
      select cast(attname as text) from pg_attribute where attrelid = cast(table_name as regclass) and attgenerated <> ''
    ) as ignored
  from history_tables()
`;

/** The rows of all recorded tables. */
export async function recordedRows(sql: Sql): Promise<Rows> {
  const entries = (await recordedTables(sql)).map(async ({ table_name: table, kind, owner, keys, ignored }) => {
    const rows = await sql<{ row: Values }[]>`
      select to_jsonb(each) - ${ignored}::text[] as row from ${identifier(table)} as each
    `;
    return rows.map(({ row }) => {
      const key = keys.map((name) => row[name]);
      return [rowKey(table, key), { ...row, record: `${kind}/${row[owner]}` }] as const;
    });
  });
  return new Map((await Promise.all(entries)).flat());
}

interface HistoryRow {
  readonly table_name: string;
  readonly owner: number;
  readonly key: readonly unknown[];
  readonly before: Values | null;
  readonly after: Values | null;
}

/** Applies the history of a change to rows, or takes it back from them. */
export async function replayed(sql: Sql, rows: Rows, change: number, direction: "forth" | "back"): Promise<Rows> {
  const tables = new Map((await recordedTables(sql)).map((table) => [table.table_name, table]));
  const history = await sql<HistoryRow[]>`
    select table_name, owner, key, before, after from changed_rows where change_id = ${change} order by id, place
  `;
  const result = new Map(rows);
  for (const row of direction === "forth" ? history : history.toReversed()) {
    const table = tables.get(row.table_name);
    if (!table) throw new Error(`${row.table_name} is not listed`);
    const [former, latter] = direction === "forth" ? [row.before, row.after] : [row.after, row.before];
    const keyOf = (values: Values | null) => table.keys.map((name, place) => values?.[name] ?? row.key[place]);
    const at = rowKey(row.table_name, keyOf(former));
    const current = result.get(at);
    result.delete(at);
    if (latter === null) continue;
    const key = Object.fromEntries(table.keys.map((name, place) => [name, row.key[place]]));
    const { version: _, ...values } = { ...(former ? current : key), [table.owner]: row.owner, ...latter };
    result.set(rowKey(row.table_name, keyOf(latter)), { ...values, record: `${table.kind}/${values[table.owner]}` });
  }
  return result;
}
