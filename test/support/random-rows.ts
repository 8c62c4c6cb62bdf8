import { expect } from "vitest";
import type { Sql } from "./database.ts";
import { type Row, rowsOf } from "./undo.ts";

/* What other programs write: any column of any recorded table. */

/** A column that other programs write. */
export interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly isNullable: boolean;
  /** The table whose ids it holds. */
  readonly parent: string | null;
  /** Whether rows of its table may be added and deleted. */
  readonly isFree: boolean;
}

/** All, but for ids, versions, images, whose objects they do not have, and what rights and the default role rest on. */
export const writableColumns = (sql: Sql) => sql<Column[]>`
  select
    table_name as table, attname as column, format_type(atttypid, null) as type, not attnotnull as "isNullable",
    confrelid::regclass::text as parent, kept is null as "isFree"
  from
    history_tables()
    join pg_attribute on attrelid = table_name::regclass and attnum > 0 and not attisdropped
    left join pg_constraint on contype = 'f' and conrelid = attrelid and conkey = array[attnum]
  where
    attgenerated = '' and attname <> all(derived || '{id, key, is_default, version}'::text[])
    and (table_name, attname) not in (('user_roles', 'user_id'), ('users', 'image'), ('contributors', 'image'))
  order by table_name, attnum
`;

/** What there is: the rows, and the ids in each table. */
export async function worldOf(sql: Sql) {
  const rows = await rowsOf(sql);
  const of = (table: string): Row[] =>
    Object.entries(rows).flatMap(([name, row]) => (name.startsWith(`${table} `) ? [row] : []));
  return { of, idsOf: (table: string) => of(table).map(({ id }) => Number(id)) };
}
export type World = Awaited<ReturnType<typeof worldOf>>;
type IdsOf = World["idsOf"];

/** A number stands for one of these. */
export const pick = <Value>(values: readonly Value[], number: number): Value | undefined =>
  values[number % values.length];

/** A value of a column: one of few, so that changes meet. */
export function valueFor({ column, type, parent, isNullable }: Column, number: number, idsOf: IdsOf): unknown {
  if (isNullable && number % 5 === 0) return null;
  if (parent) return pick(idsOf(parent), number);
  if (column === "founding_date") return `2000-01-0${1 + (number % 9)}`;
  if (column === "image_size") return `${1 + (number % 9)}x9`;
  const values: Record<string, unknown> = {
    text: `https://${number % 50}.example`,
    boolean: number % 2 === 0,
    date: `2000-01-0${1 + (number % 9)}`,
    "timestamp with time zone": `2000-01-0${1 + (number % 9)}T00:00:00Z`,
    "double precision": (1 + (number % 9)) / 10,
  };
  return type in values ? values[type] : number % 2;
}

/** Returns whether the database accepted it, and found a row. */
async function isDone(sql: Sql, statement: string, values: readonly unknown[]): Promise<boolean> {
  try {
    return (await sql.query<unknown[]>(`${statement} returning 1`, [...values])).length > 0;
  } catch (error) {
    // It would break a constraint.
    expect(error).toMatchObject({ code: expect.stringMatching(/^23/) });
    return false;
  }
}

export const updateRow = (sql: Sql, { table, column }: Column, value: unknown, row: Row | undefined) =>
  isDone(
    sql,
    `update ${table} set "${column}" = $1 where to_jsonb(${table}) @> $2 and "${column}" is distinct from $1`,
    [value, row],
  );

export const deleteRow = (sql: Sql, table: string, row: Row | undefined) =>
  isDone(sql, `delete from ${table} where to_jsonb(${table}) @> $1`, [row]);

export function insertRow(sql: Sql, own: readonly Column[], number: number, idsOf: IdsOf): Promise<boolean> {
  const table = own[0]?.table;
  // Clients have no ids of their own.
  const row = new Map<string, unknown>(table === "clients" ? [["id", number + 3]] : []);
  for (const [place, column] of own.entries()) row.set(column.column, valueFor(column, number + place, idsOf));
  const names = [...row.keys()].map((name) => `"${name}"`).join();
  const places = [...row.keys()].map((_, place) => `$${place + 1}`).join();
  return isDone(sql, `insert into ${table} (${names}) values (${places})`, [...row.values()]);
}
