import { expect } from "vitest";
import type { UndoResult } from "../../lib/operators/undo/undo-result.ts";
import type { Sql } from "./database.ts";
import { invoke } from "./invoke.ts";
import type { Request, Stack } from "./stack.ts";

/** Invokes ops-undo. */
export const undo = (stack: Pick<Stack, "lambda">, payload: object): Promise<UndoResult> =>
  invoke(stack, "ops-undo", payload);

/** Undoes a change. Returns the row that did it. */
export async function undone(stack: Pick<Stack, "lambda">, change: number): Promise<number> {
  const result = await undo(stack, { change });
  expect(result).toMatchObject({ undone: [{ change, missing: [] }], refused: [], isDone: true });
  return result.change ?? 0;
}

/** The id of the newest change. */
export const latestChange = async (sql: Sql): Promise<number> =>
  (await sql<{ id: number }[]>`select max(id) as id from changes`)[0]?.id ?? 0;

/** Makes a change by a request, and returns its id. */
export async function changeBy(
  { call, sql }: Pick<Stack, "call" | "sql">,
  name: string,
  request: Request,
): Promise<number> {
  const { status, body } = await call(name, request);
  expect({ name, status, body }).toMatchObject({ status: 200 });
  return await latestChange(sql);
}

export type Row = Readonly<Record<string, unknown>>;
export type Rows = Readonly<Record<string, Row>>;

/** The rows of all recorded tables, without what triggers derive, by names such as `contributor_aliases [12]`. */
export async function rowsOf(sql: Sql): Promise<Rows> {
  const tables = await sql<{ text: string }[]>`
    select format(
      'select %1$L || '' '' || jsonb_build_array(%2$s) as name, to_jsonb(%1$I) - %3$L::text[] as row from %1$I',
      table_name, (select string_agg(quote_ident(name), ', ') from unnest(key_columns(table_name)) as name),
      derived || array(
        select attname::text from pg_attribute where attrelid = table_name::regclass and attgenerated <> ''
      )
    ) as text
    from history_tables()
  `;
  const rows = await sql.query<{ name: string; row: Row }[]>(
    `${tables.map(({ text }) => text).join(" union all ")} order by name`,
  );
  return Object.fromEntries(rows.map(({ name, row }) => [name, row]));
}

/** What undoing brings back: these rows without versions and times of change, and counters. A total of 0 is as good as none. */
export async function contents(sql: Sql) {
  const [rows, counters] = await Promise.all([
    rowsOf(sql),
    sql`
      select subject, scope, sum(total) as total from counters group by subject, scope having sum(total) <> 0 order by 1, 2
    `,
  ]);
  return { ...withoutVersions(rows), counters };
}

export const withoutVersions = (rows: Rows): Rows =>
  Object.fromEntries(Object.entries(rows).map(([name, { version: _, changed_at: _changed, ...row }]) => [name, row]));

/** Lets the minutes pass in which objects of removed images may still be deleted. */
export const settleImages = (sql: Sql) =>
  sql`update images_to_remove set remove_after = remove_after - interval '2 minutes'`;
