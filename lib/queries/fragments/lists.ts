import sql, { type Sql } from "sql-template-tag";
import type { Batch, Cursor } from "../../data-api/list.ts";

export const ascending = (column: Sql, type: Sql) => ordered(column, type, sql`asc`, sql`>`);
export const descending = (column: Sql, type: Sql) => ordered(column, type, sql`desc`, sql`<`);

/** An order of records with a `key` and an `id`: by the key, ties broken by the id in the same direction. */
const ordered = (column: Sql, type: Sql, direction: Sql, comparison: Sql) => ({
  /** The column that is called `key` then. */
  column,
  by: sql`key ${direction}, id ${direction}`,
  /** Whether a record comes after the last one of the previous page. */
  isAfter: (cursor: Cursor | undefined): Sql =>
    cursor ? sql`(key, id) ${comparison} (${cursor.key}::${type}, ${cursor.id}::bigint)` : sql`true`,
});

export type Order = ReturnType<typeof ordered>;

/** The records of a batch in this order. */
export const pageOf = (records: Sql, { by }: Order, { offset, limit }: Batch): Sql => sql`
  (select * from ${records} order by ${by} limit ${limit}::bigint offset ${offset}::bigint)
`;

/** The same of all that are found. */
export const pageOfFound = (order: Order, batch: Batch): Sql =>
  pageOf(sql`found where ${order.isAfter(batch.after)}`, order, batch);

/** Orders of the catalogue's lists. Newer records have larger ids. */
export const catalogueOrders = {
  "name-asc": ascending(sql`name_key`, sql`text`),
  "name-desc": descending(sql`name_key`, sql`text`),
  "added-asc": ascending(sql`id`, sql`bigint`),
  "added-desc": descending(sql`id`, sql`bigint`),
} as const;

/** The number of records in these scopes, which triggers count. */
export const countOf = (subject: string, scopes: Sql): Sql => sql`
  select coalesce(sum(total), 0)::bigint from counters where subject = ${subject}::text and scope in (${scopes})
`;
