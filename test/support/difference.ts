import { identifier, type Sql } from "./database.ts";

type Row = Readonly<Record<string, unknown>>;
type Contents = ReadonlyMap<string, ReadonlyMap<string, Row>>;

/** Counts, copies and keys that the database derives from other rows. */
const derivedTables = new Set([
  "change_lock",
  "contributor_changes",
  "counters",
  "history",
  "lock_secret",
  "releases",
  "stale_tags",
]);
const derivedColumns = /^(scope|version|changed_at|\w+_keys?)$/;

/**
 * What an action changes in the whole database: a line for each field with its value before and after, and one for each
 * row that came or went, without its ids. Of the ledger there are the endpoints.
 */
export async function differenceBy(sql: Sql, action: () => Promise<unknown>): Promise<string[]> {
  const before = await contentsOf(sql);
  await action();
  const after = await contentsOf(sql);
  return [...after].flatMap(([table, rows]) => differences(table, before.get(table) ?? new Map(), rows)).sort();
}

async function contentsOf(sql: Sql): Promise<Contents> {
  const tables = await sql`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'
  `;
  const names = tables.map(({ name }) => String(name)).filter((name) => !derivedTables.has(name));
  return new Map(await Promise.all(names.map(async (name) => [name, await rowsOf(sql, name)] as const)));
}

async function rowsOf(sql: Sql, table: string): Promise<ReadonlyMap<string, Row>> {
  const rows = await sql`select to_jsonb(${identifier(table)}) as row from ${identifier(table)}`;
  return new Map(
    rows.map(({ row }) => {
      const fields = Object.entries(row).filter(([column]) => !derivedColumns.test(column));
      return [String(row.id ?? JSON.stringify(row)), Object.fromEntries(fields)] as const;
    }),
  );
}

function differences(table: string, before: ReadonlyMap<string, Row>, after: ReadonlyMap<string, Row>): string[] {
  const lines: string[] = [];
  for (const [id, row] of before) if (!after.has(id)) lines.push(`${table} - ${shown(table, row)}`);
  for (const [id, row] of after) {
    const old = before.get(id);
    if (!old) lines.push(`${table} + ${shown(table, row)}`);
    for (const column of old ? Object.keys(row) : [])
      if (JSON.stringify(old?.[column]) !== JSON.stringify(row[column]))
        lines.push(`${table}.${column}: ${JSON.stringify(old?.[column])} -> ${JSON.stringify(row[column])}`);
  }
  return lines;
}

function shown(table: string, row: Row): string {
  if (table === "changes") return String(row.endpoint);
  const fields = Object.entries(row).filter(([column]) => !/^id$|_id$|_at$/.test(column));
  return JSON.stringify(Object.fromEntries(fields));
}
