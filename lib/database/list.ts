import sql, { empty, raw, type Sql } from "sql-template-tag";
import { type Guard, guarded } from "./guard.ts";
import { readLong, readShort, resultBytesMax, type Texted } from "./pieces.ts";
import { integer, integerOrNull, textOrNull } from "./read.ts";

/** Where a page begins: behind a record, or a number of records after the first. */
export interface Page {
  readonly after: Cursor | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** A page to be read by one statement. */
export interface Slice extends Page {
  /** The limit is never more: a number that PostgreSQL knows when it plans for any limit. */
  readonly most: Sql;
}

export interface Cursor {
  readonly key: string;
  readonly id: number;
}

/** The work of an endpoint that gives a list: records in an order that no two of them share. */
export interface ListQuery<Item> {
  /** A common table expression for what both of the following need. */
  readonly shared?: Sql;
  /** A scalar: how many records match, whatever the page. */
  readonly max: Sql;
  /** What a record has. */
  readonly fields: Sql;
  /** The last of the fields, where it is left out when it is null. */
  readonly optional?: string;
  /** What the order compares before the `id`. */
  readonly key: Sql;
  /** The rest of the select behind the fields, `order by` and `limit` included. */
  readonly rows: (slice: Slice) => Sql;
  /** Only for the compiler: what a record is. */
  readonly item?: Item;
}

/** A list behind a permission: its parts are read only for a `caller`. */
export interface GuardedListQuery<Item> extends ListQuery<Item> {
  readonly guarded: true;
}

export interface ListPage {
  readonly status: number;
  /** Who calls, as far as that is known. */
  readonly caller: number | null;
  readonly max: number;
  /** How many records the text holds. */
  readonly count: number;
  /** The records as JSON, with commas between them. */
  readonly text: string;
  /** Where the next page begins; undefined when this one is the last. */
  readonly next: Cursor | undefined;
}

const shortRowsMax = 400;
const longRowsMax = 2_000;

/**
 * Reads the first page of a list: all that is asked for, if it is as short as nearly everything is, or else as much as
 * fits into a result.
 */
export async function readFirstPage(
  query: ListQuery<unknown>,
  page: Page,
  guard: Guard | undefined,
  deadline: number,
): Promise<ListPage> {
  const limit = Math.min(page.limit, shortRowsMax);
  const select = short(query, sliceOf(page, shortRowsMax));
  const found = await readShort(guard ? guarded(guard, select) : select, columnsOf(guard), deadline);
  if (found !== "long") {
    const first = pageOf(found);
    if (first.count < limit || limit === page.limit) return first;
  }
  return await readPage(query, page, guard, deadline);
}

const usualRowsMax = 100;

/** As much of a page as one statement reads. */
const sliceOf = (page: Page, rowsMax: number): Slice => ({
  ...page,
  limit: Math.min(page.limit, rowsMax),
  most: raw(`${page.limit > usualRowsMax ? rowsMax : usualRowsMax}`),
});

/** The database joins the records of a page, since a field for each of them would cost more than they do. */
const short = ({ shared, max, fields, optional, rows }: ListQuery<unknown>, slice: Slice): Sql => sql`
  ${shared ? sql`with ${shared}` : empty}
  select
    (${max}) as max,
    count(*) as count,
    ${withoutNull(optional, sql`string_agg(cast(row_to_json(item) as text), ',')`)} as text
  from (select ${fields} ${rows(slice)}) as item
`;

/** Reads as many records as fit into a result, however many were asked for, and at least one. */
export async function readPage(
  query: ListQuery<unknown>,
  page: Page,
  guard: Guard | undefined,
  deadline: number,
): Promise<ListPage> {
  const select = long(query, sliceOf(page, longRowsMax));
  const columns = sql`${columnsOf(guard)}, next_id, next_key`;
  return pageOf(await readLong(guard ? guarded(guard, select) : select, columns, deadline));
}

const long = ({ shared, max, fields, optional, key, rows }: ListQuery<unknown>, slice: Slice): Sql => sql`
  with
    ${shared ? sql`${shared},` : empty}
    page as materialized (
      select
        id,
        cast(${key} as text) as cursor_key,
        ${withoutNull(optional, sql`cast((select row_to_json(item) from (select ${fields}) as item) as text)`)} as record
      ${rows(slice)}
    ),
    -- a materialised page keeps its order, so the windows follow it
    measured as (
      select *, row_number() over () as position, sum(octet_length(record) + 1) over (rows unbounded preceding) as bytes
      from page
    )
  select
    ${slice.after ? sql`0::bigint` : sql`(${max})`} as max,
    count(*) as count,
    string_agg(record, ',' order by position) as text,
    case when ${more(slice)} then (array_agg(id order by position desc))[1] end as next_id,
    case when ${more(slice)} then (array_agg(cursor_key order by position desc))[1] end as next_key
  from measured
  where bytes <= ${raw(`${resultBytesMax}`)} or position = 1
`;

const more = ({ limit }: Slice): Sql => sql`count(*) < (select count(*) from page) or count(*) = ${limit}::bigint`;

/** Quotes within a string are escaped, so that nothing but a field of a record ends like this. */
const withoutNull = (field: string | undefined, text: Sql): Sql =>
  field === undefined ? text : sql`replace(${text}, ${raw(`',"${field}":null}'`)}, '}')`;

const columnsOf = (guard: Guard | undefined): Sql =>
  guard ? sql`, status, caller_id, max, count` : sql`, 200, null::bigint, max, count`;

function pageOf(found: Texted | undefined): ListPage {
  if (found === undefined) throw new TypeError("A page has a row, even when it has no records");
  const { text, row } = found;
  const id = row.length > 4 ? integerOrNull(row, 4) : null;
  return {
    status: integer(row, 0),
    caller: integerOrNull(row, 1),
    max: integerOrNull(row, 2) ?? 0,
    count: integerOrNull(row, 3) ?? 0,
    text: text ?? "",
    next: id === null ? undefined : { id, key: textOrNull(row, 5) ?? "" },
  };
}
