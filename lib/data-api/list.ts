import sql, { empty, raw, type Sql } from "sql-template-tag";
import { readLongText, readShortText, readTextWithin, resultBytesMax, type TextRow } from "./chunks.ts";
import { integer, integerOrNull, textOrNull } from "./client.ts";
import { type Guard, guarded, statusOf } from "./guard.ts";
import type { Send } from "./transaction.ts";

/** Which page of a list is requested: the page begins after a record, or at an offset. */
export interface PageRequest {
  readonly after?: Cursor | undefined;
  readonly offset?: number;
  readonly limit: number;
  readonly guard?: Guard | undefined;
  readonly deadline: number;
}

/** The last record of the page before. */
export interface Cursor {
  readonly id: number;
  /** What the list is sorted by before the `id`, if there is anything. */
  readonly key?: string | null;
}

/** The part of a page that one statement reads. */
export type Batch = Readonly<ReturnType<typeof batchOf>>;

/** The query of an endpoint that gives a list. With a permission it may use `caller`. */
export interface ListQuery {
  /** The records of a batch in a total order: a select of their fields, among them `id`. */
  readonly page: (batch: Batch) => Sql;
  /** The name of the last field, if it is omitted when it is null. */
  readonly optional?: string;
  /**
   * A select of all records that match, whatever the page: their `id`, what they are sorted by as `key`, and what `page`
   * needs. The other selects read it as `found`.
   */
  readonly found?: Sql;
  /** Few records match: they are found once, then counted and sorted. Otherwise an index gives the page in order. */
  readonly sortInMemory?: boolean;
  /** A scalar: how many records match. Only lists whose response has `max` have one. */
  readonly max?: Sql;
  /** Counting compares all records, and so does the page: the page is read only if a record matches. */
  readonly countsFirst?: boolean;
}

export type PageResult = ReturnType<typeof resultOf>;

const shortRowsMax = 400;
const longRowsMax = 2_000;

/**
 * Reads the first page of a list. Nearly every list fits into a row and is read whole; of a longer one it reads as many
 * records as fit into a result.
 */
export async function readFirstPage(query: ListQuery, page: PageRequest): Promise<PageResult> {
  const { guard, deadline } = page;
  const batch = batchOf(page, shortRowsMax);
  const found = await readShortText(guarded(guard, selectShort(query, batch)), columnsOf(guard), deadline);
  if (found !== "too long") {
    const first = resultOf(found);
    if (first.count < batch.limit || batch.limit === page.limit) return first;
  }
  return await readPage(query, page);
}

/** Reads as many records of a page as fit into a result, and at least one. */
export async function readPage(query: ListQuery, page: PageRequest): Promise<PageResult> {
  const { guard, deadline } = page;
  const select = selectLong(query, batchOf(page, longRowsMax));
  return resultOf(await readLongText(guarded(guard, select), sql`${columnsOf(guard)}, next_id, next_key`, deadline));
}

/** The same within a transaction. */
export async function readPageWithin(send: Send, query: ListQuery, page: PageRequest): Promise<PageResult> {
  const { guard } = page;
  const select = selectLong(query, batchOf(page, longRowsMax));
  return resultOf(await readTextWithin(send, guarded(guard, select), sql`${columnsOf(guard)}, next_id, next_key`));
}

const usualRowsMax = 100;

/** As many records of a page as one statement reads. */
const batchOf = ({ after, offset = 0, limit }: Omit<PageRequest, "guard" | "deadline">, rowsMax: number) => ({
  after,
  offset,
  limit: Math.min(limit, rowsMax),
  /** A constant that the limit never exceeds. PostgreSQL knows it when it makes a generic plan for any limit. */
  limitMax: raw(`${limit > usualRowsMax ? rowsMax : usualRowsMax}`),
});

/** The database joins the records of a page to one text: a row for each of them would take longer to deliver. */
export const selectShort = (query: ListQuery, batch: Batch): Sql => sql`
  ${query.found ? sql`with ${foundOf(query)}` : empty}
  ${query.countsFirst ? sql`, total as (select (${query.max}) as max)` : empty}
  select
    ${query.countsFirst ? sql`(select max from total)` : query.max ? sql`(${query.max})` : sql`0::bigint`} as max,
    count(*) as count,
    ${withoutNull(query, sql`string_agg(cast(row_to_json(item) as text), ',')`)} as text
  from (${query.page(batch)}) as item
  ${query.countsFirst ? sql`where (select max from total) > 0` : empty}
`;

/** The same as far as a result has room, and the last record, if the list goes on after it. */
const selectLong = (query: ListQuery, batch: Batch): Sql => sql`
  with
    ${query.found ? sql`${foundOf(query)},` : empty}
    page as materialized (
      select id, ${withoutNull(query, sql`cast(row_to_json(item) as text)`)} as record
      from (${query.page(batch)}) as item
    ),
    -- a materialized page keeps its order, so the window functions follow it
    measured as (
      select *, row_number() over () as position, sum(octet_length(record) + 1) over (rows unbounded preceding) as bytes
      from page
    ),
    result as (
      select
        count(*) as count,
        string_agg(record, ',' order by position) as text,
        case
          when count(*) < (select count(*) from page) or count(*) = ${batch.limit}::bigint
          then (array_agg(id order by position desc))[1]
        end as next_id
      from measured
      where bytes <= ${raw(`${resultBytesMax}`)} or position = 1
    )
  select
    *,
    ${query.max && !batch.after ? sql`(${query.max})` : sql`0::bigint`} as max,
    ${query.found ? sql`(select cast(key as text) from found where id = next_id)` : sql`null::text`} as next_key
  from result
`;

/** The first page of a list as a JSON array, as far as a result has room for it: a part of another record. */
export const selectWithin = ({ max: _, ...query }: ListQuery, limit: number): Sql => sql`
  select cast(concat('[', text, ']') as json) from (${selectLong(query, batchOf({ limit }, limit))}) as list
`;

/** PostgreSQL merges a select that is not materialized into the others, and so uses an index for it. */
export const foundOf = ({ found = empty, sortInMemory }: ListQuery): Sql =>
  sql`found as ${sortInMemory ? empty : sql`not`} materialized (${found})`;

/** JSON escapes quotes inside of a string, so only a field of a record can match. */
const withoutNull = ({ optional }: ListQuery, text: Sql): Sql =>
  optional === undefined ? text : sql`replace(${text}, ${raw(`',"${optional}":null}'`)}, '}')`;

const columnsOf = (guard: Guard | undefined): Sql => sql`, ${statusOf(guard)}, max, count`;

function resultOf(found: TextRow | undefined) {
  if (found === undefined) throw new TypeError("A page has no row");
  const { text, row } = found;
  const id = row.length > 4 ? integerOrNull(row, 4) : null;
  return {
    status: integer(row, 0),
    /** The caller's id, if it is known. */
    caller: integerOrNull(row, 1),
    max: integerOrNull(row, 2) ?? 0,
    /** How many records are in the text. */
    count: integerOrNull(row, 3) ?? 0,
    /** The records as JSON, with commas between them. */
    text: text ?? "",
    /** Where the next page begins; undefined after the last one. */
    next: id === null ? undefined : { id, key: textOrNull(row, 5) },
  };
}
