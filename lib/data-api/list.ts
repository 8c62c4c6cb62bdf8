import sql, { empty, raw, type Sql } from "sql-template-tag";
import { readLongText, readShortText, resultBytesMax, type TextRow } from "./chunks.ts";
import { type Guard, guarded } from "./guard.ts";
import { integer, integerOrNull, textOrNull } from "./read.ts";

/** A page begins after a record, or at an offset. */
export interface Page {
  readonly after: Cursor | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** The part of a page that one statement reads. */
export interface Slice extends Page {
  /** A constant that the limit never exceeds. PostgreSQL knows it when it makes a generic plan for any limit. */
  readonly limitMax: Sql;
}

export interface Cursor {
  readonly key: string;
  readonly id: number;
}

/** The query of an endpoint that gives a list, in a total order: no two records are equal in it. */
export interface ListQuery<Item> {
  /** A common table expression that both `max` and `rows` use. */
  readonly shared?: Sql;
  /** A scalar: how many records match, on all pages. */
  readonly max: Sql;
  /** The columns of a record. */
  readonly fields: Sql;
  /** The name of the last field, if it is left out when it is null. */
  readonly optional?: string;
  /** What the list is sorted by, before the `id`. */
  readonly key: Sql;
  /** The rest of the select after the fields, from `from` to `limit`. */
  readonly rows: (slice: Slice) => Sql;
  /** Only for the compiler: the type of a record. */
  readonly item?: Item;
}

/** A list of an endpoint with a permission; it may use `caller`. */
export interface GuardedListQuery<Item> extends ListQuery<Item> {
  readonly guarded: true;
}

export interface ListPage {
  readonly status: number;
  /** The caller's id, if it is known. */
  readonly caller: number | null;
  readonly max: number;
  /** How many records are in the text. */
  readonly count: number;
  /** The records as JSON, with commas between them. */
  readonly text: string;
  /** Where the next page begins; undefined after the last one. */
  readonly next: Cursor | undefined;
}

const shortRowsMax = 400;
const longRowsMax = 2_000;

/**
 * Reads the first page of a list. Nearly every list fits into a row and is read whole; of a longer one it reads as many
 * records as fit into a result.
 */
export async function readFirstPage(
  query: ListQuery<unknown>,
  page: Page,
  guard: Guard | undefined,
  deadline: number,
): Promise<ListPage> {
  const limit = Math.min(page.limit, shortRowsMax);
  const select = selectShort(query, sliceOf(page, shortRowsMax));
  const found = await readShortText(guard ? guarded(guard, select) : select, columnsOf(guard), deadline);
  if (found !== "too long") {
    const first = pageOf(found);
    if (first.count < limit || limit === page.limit) return first;
  }
  return await readPage(query, page, guard, deadline);
}

const usualRowsMax = 100;

/** As many records of a page as one statement reads. */
const sliceOf = (page: Page, rowsMax: number): Slice => ({
  ...page,
  limit: Math.min(page.limit, rowsMax),
  limitMax: raw(`${page.limit > usualRowsMax ? rowsMax : usualRowsMax}`),
});

/** The database joins the records of a page to one text: a row for each of them would take longer to deliver. */
const selectShort = ({ shared, max, fields, optional, rows }: ListQuery<unknown>, slice: Slice): Sql => sql`
  ${shared ? sql`with ${shared}` : empty}
  select
    (${max}) as max,
    count(*) as count,
    ${withoutNull(optional, sql`string_agg(cast(row_to_json(item) as text), ',')`)} as text
  from (select ${fields} ${rows(slice)}) as item
`;

/** Reads as many records of a page as fit into a result, and at least one. */
export async function readPage(
  query: ListQuery<unknown>,
  page: Page,
  guard: Guard | undefined,
  deadline: number,
): Promise<ListPage> {
  const select = selectLong(query, sliceOf(page, longRowsMax));
  const columns = sql`${columnsOf(guard)}, next_id, next_key`;
  return pageOf(await readLongText(guard ? guarded(guard, select) : select, columns, deadline));
}

const selectLong = ({ shared, max, fields, optional, key, rows }: ListQuery<unknown>, slice: Slice): Sql => sql`
  with
    ${shared ? sql`${shared},` : empty}
    page as materialized (
      select
        id,
        cast(${key} as text) as cursor_key,
        ${withoutNull(optional, sql`cast((select row_to_json(item) from (select ${fields}) as item) as text)`)} as record
      ${rows(slice)}
    ),
    -- a materialized page keeps its order, so the window functions follow it
    measured as (
      select *, row_number() over () as position, sum(octet_length(record) + 1) over (rows unbounded preceding) as bytes
      from page
    )
  select
    ${slice.after ? sql`0::bigint` : sql`(${max})`} as max,
    count(*) as count,
    string_agg(record, ',' order by position) as text,
    case when ${hasNext(slice)} then (array_agg(id order by position desc))[1] end as next_id,
    case when ${hasNext(slice)} then (array_agg(cursor_key order by position desc))[1] end as next_key
  from measured
  where bytes <= ${raw(`${resultBytesMax}`)} or position = 1
`;

const hasNext = ({ limit }: Slice): Sql => sql`count(*) < (select count(*) from page) or count(*) = ${limit}::bigint`;

/** JSON escapes quotes inside of a string, so only a field of a record can match. */
const withoutNull = (field: string | undefined, text: Sql): Sql =>
  field === undefined ? text : sql`replace(${text}, ${raw(`',"${field}":null}'`)}, '}')`;

const columnsOf = (guard: Guard | undefined): Sql =>
  guard ? sql`, status, caller_id, max, count` : sql`, 200, null::bigint, max, count`;

function pageOf(found: TextRow | undefined): ListPage {
  if (found === undefined) throw new TypeError("A page has no row");
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
