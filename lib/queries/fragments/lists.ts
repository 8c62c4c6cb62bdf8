import sql, { empty, type Sql } from "sql-template-tag";
import type { Batch, Cursor } from "../../data-api/list.ts";
import { records } from "./json.ts";

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

/** Orders of all lists of records. Newer records have larger ids. */
export const recordOrders = {
  "id-asc": ascending(sql`id`, sql`bigint`),
  "id-desc": descending(sql`id`, sql`bigint`),
  "changed-asc": ascending(sql`changed_at`, sql`timestamptz`),
  "changed-desc": descending(sql`changed_at`, sql`timestamptz`),
} as const;

/** Orders of the catalogue's lists. */
export const catalogueOrders = {
  ...recordOrders,
  "name-asc": ascending(sql`name_key`, sql`text`),
  "name-desc": descending(sql`name_key`, sql`text`),
  "sort-name-asc": ascending(sql`sort_key`, sql`text`),
  "sort-name-desc": descending(sql`sort_key`, sql`text`),
  "added-asc": recordOrders["id-asc"],
  "added-desc": recordOrders["id-desc"],
} as const;

/** A condition for the records with these ids, if a request names any. */
export const isAmong = (ids: string | undefined, id = sql`id`): Sql =>
  ids === undefined ? sql`true` : sql`${id} = any(cast(string_to_array(${ids}::text, ',') as bigint[]))`;

/** A condition for records that have been changed since then, or later; `and` first. */
export const isChangedSince = (instant: string | undefined): Sql =>
  instant === undefined ? empty : sql`and changed_at >= ${instant}::timestamptz`;

/** The letter under which records are listed that begin as this text does. */
export const letterOf = (text: string): Sql => sql`left(sort_key(${text}::text), 1)`;

/** The number of records in these scopes, of a letter or of all, which triggers count. */
export const countOf = (subject: string, scopes: Sql, letter?: string): Sql => sql`
  select coalesce(sum(total), 0)::bigint
  from counters
  where
    subject = ${letter === undefined ? sql`${subject}::text` : sql`concat(${subject}::text, ' ', ${letterOf(letter)})`}
    and scope in (${scopes})
`;

/** The number of records by letter, in the order of their sort keys. */
export const countByLetter = (subject: string, scopes: Sql, tag: string): Sql => sql`
  select
    to_json(${records(sql`
      select right(subject, 1) as letter, sum(total)::bigint as count
      from counters
      where subject like concat(${subject}::text, ' _') and scope in (${scopes})
      group by subject
      having sum(total) > 0
      order by right(subject, 1) collate "C"
    `)}) as body,
    ${tag}::text as tags, null::text as current_slug
`;
