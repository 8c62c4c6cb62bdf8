import sql, { empty, type Sql } from "sql-template-tag";
import type { Cursor } from "../database/list.ts";

/** Keeps rows whose name contains the text; `%`, `_` and backslashes are plain characters. */
export const named = (column: Sql, search: string | undefined): Sql =>
  search === undefined ? empty : sql`and ${column} like containing(${search}::text)`;

/** An order by one column, ties broken by id in the same direction. */
export interface Order {
  readonly key: Sql;
  readonly by: Sql;
  /** The same for what has been picked as `key` and `id`. */
  readonly again: Sql;
  /** Keeps rows behind the last one of the page before. */
  readonly behind: (cursor: Cursor | undefined) => Sql;
}

type KeyType = "text" | "bigint" | "timestamptz";

export const ascending = (key: Sql, type: KeyType): Order => directed(key, type, sql`asc`, sql`>`);
export const descending = (key: Sql, type: KeyType): Order => directed(key, type, sql`desc`, sql`<`);

const types: Readonly<Record<KeyType, Sql>> = { text: sql`text`, bigint: sql`bigint`, timestamptz: sql`timestamptz` };

function directed(key: Sql, type: KeyType, direction: Sql, comparison: Sql): Order {
  return {
    key,
    by: sql`${key} ${direction}, id ${direction}`,
    again: sql`key ${direction}, id ${direction}`,
    behind: (cursor) =>
      cursor ? sql`and (${key}, id) ${comparison} (${cursor.key}::${types[type]}, ${cursor.id}::bigint)` : empty,
  };
}

const orders = {
  "name-asc": ascending(sql`name_key`, "text"),
  "name-desc": descending(sql`name_key`, "text"),
  "added-asc": ascending(sql`id`, "bigint"),
  "added-desc": descending(sql`id`, "bigint"),
} as const;

/** Orders of the catalogue's lists. Ids ascend as records are added. */
export type CatalogueOrder = keyof typeof orders;

export const catalogueOrder = (name: CatalogueOrder): Order => orders[name];
