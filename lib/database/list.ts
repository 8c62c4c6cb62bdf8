import sql, { empty, type Sql } from "sql-template-tag";
import { execute, type Row } from "./client.ts";
import { type Guard, guarded } from "./guard.ts";
import { pieceLength } from "./query.ts";
import { integer, integerOrNull, text, textOrNull } from "./read.ts";

/** Where a page begins: behind a record, or a number of records after the first. */
export interface Page {
  readonly after: Cursor | undefined;
  readonly offset: number;
  readonly limit: number;
}

export interface Cursor {
  readonly key: string;
  readonly id: number;
}

/** The work of an endpoint that gives a list: records in an order that no two of them share. */
export interface ListQuery<Item> {
  /** A scalar: how many records match, whatever the page. */
  readonly max: Sql;
  /** A select of `id`, `key` (what the order compares before the id) and `record` (JSON), in order. */
  readonly page: (page: Page) => Sql;
  /** Only for the compiler: what a record is. */
  readonly item?: Item;
}

/** A list behind a permission: its parts are read only for a `caller`. */
export interface GuardedListQuery<Item> extends ListQuery<Item> {
  readonly guarded: true;
}

export interface ListPage {
  readonly status: number;
  readonly max: number;
  /** Each as JSON text. */
  readonly records: readonly string[];
  /** Where the next page begins; undefined when this one is the last. */
  readonly next: Cursor | undefined;
}

/** A result has at most 1 MiB; the rest is left for what the service itself adds. */
const pageBytesMax = 900_000;
const rowBytesBesideText = 64;
const pageRowsMax = 2_000;

/** Reads one page as one statement: as many records as fit into a result, however many were asked for. */
export async function readPage(query: ListQuery<unknown>, page: Page, guard: Guard | undefined): Promise<ListPage> {
  const limit = Math.min(page.limit, pageRowsMax);
  const rows = await execute(
    sql`
      with
        ${guard ? sql`${guarded(guard)},` : empty}
        page (id, key, record) as materialized (${query.page({ ...page, limit })}),
        -- a materialised page keeps its order, so the window follows it
        measured as (
          select
            id,
            key,
            cast(record as text) as record,
            row_number() over () as position,
            count(*) over () as found,
            sum(octet_length(cast(record as text)) + octet_length(cast(key as text)) + ${rowBytesBesideText}::int)
              over (rows unbounded preceding) as bytes
          from page
        ),
        fitting as (
          select
            id, position, piece, found,
            cast(key as text) as key,
            substr(record, 1 + piece * ${pieceLength}::int, ${pieceLength}::int) as text
          from measured, generate_series(0, (length(record) - 1) / ${pieceLength}::int) as piece
          where bytes <= ${pageBytesMax}::int or position = 1
        )
      ${guard ? sql`select status, 0::bigint, null::bigint, null::int, null::bigint, null, null from refusal union all` : empty}
      (
        select 200, matching.tally, id, piece, found, key, text
        from
          (select ${page.after ? sql`0::bigint` : sql`(${query.max})`} as tally) as matching
          left join fitting on true
        ${guard ? sql`where exists (select from caller)` : empty}
        order by position, piece
      )
    `,
    true,
  );
  return listPage(rows, limit);
}

function listPage(rows: readonly Row[], limit: number): ListPage {
  const [first] = rows;
  const last = rows.at(-1);
  if (first === undefined || last === undefined) throw new TypeError("A page has at least one row");
  const head = { status: integer(first, 0), max: integer(first, 1) };
  if (integerOrNull(first, 2) === null) return { ...head, records: [], next: undefined };

  const records = join(rows);
  const found = integer(last, 4);
  const whole = records.length === found && found < limit;
  return { ...head, records, next: whole ? undefined : { id: integer(last, 2), key: textOrNull(last, 5) ?? "" } };
}

function join(rows: readonly Row[]): string[] {
  const records: string[] = [];
  for (const row of rows) {
    const piece = text(row, 6);
    if (integer(row, 3) === 0) records.push(piece);
    else records.push(records.pop() + piece);
  }
  return records;
}
