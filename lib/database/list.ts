import sql, { empty, type Sql } from "sql-template-tag";
import { type Guard, guarded } from "./guard.ts";
import { type Pieced, pieceOf, piecesOf, readPieces, resultBytesMax, versionOf } from "./pieces.ts";
import { integer, integerOrNull, textOrNull } from "./read.ts";

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

const pageRowsMax = 2_000;

/**
 * Reads one page as one statement: as many records as fit into a result, however many were asked for, and at least one.
 * The database joins them into one text and cuts it into pieces, since a field for each record would cost more than the
 * records.
 */
export async function readPage(
  query: ListQuery<unknown>,
  page: Page,
  guard: Guard | undefined,
  deadline?: number,
): Promise<ListPage> {
  const limit = Math.min(page.limit, pageRowsMax);
  const found = await readPieces(
    (first) => sql`
      with
        ${guard ? sql`${guarded(guard)},` : empty}
        page (id, key, record) as materialized (${query.page({ ...page, limit })}),
        -- a materialised page keeps its order, so the window follows it
        measured as (
          select
            id,
            cast(key as text) as key,
            cast(record as text) as record,
            row_number() over () as position,
            sum(octet_length(cast(record as text)) + 1) over (rows unbounded preceding) as bytes
          from page
        ),
        fitting as (
          select *
          from measured
          where bytes <= ${resultBytesMax}::int or position = 1
        ),
        joined as (
          select count(*) as records, string_agg(record, ',' order by position) as text
          from fitting
        ),
        following as (
          select id, key
          from fitting
          where
            position = (select records from joined)
            and ((select count(*) from page) > position or position = ${limit}::bigint)
        )
      ${guard ? sql`select status, user_id, 0::bigint, 0::bigint, null::bigint, null, null, null, 0 from refusal union all` : empty}
      (
        select
          200,
          ${guard ? sql`(select id from caller)` : sql`null::bigint`},
          ${page.after ? sql`0::bigint` : sql`(${query.max})`},
          records,
          following.id,
          following.key,
          ${pieceOf(sql`text`)},
          ${versionOf(sql`text`)},
          piece
        from
          joined
          left join following on true
          cross join lateral ${piecesOf(sql`text`, first)}
        ${guard ? sql`where exists (select from caller)` : empty}
        order by piece
      )
    `,
    6,
    deadline,
  );
  if (found === undefined) throw new TypeError("A page has at least one row");
  return listPage(found);
}

function listPage({ row, text }: Pieced): ListPage {
  const id = integerOrNull(row, 4);
  return {
    status: integer(row, 0),
    caller: integerOrNull(row, 1),
    max: integer(row, 2),
    count: integer(row, 3),
    text: text ?? "",
    next: id === null ? undefined : { id, key: textOrNull(row, 5) ?? "" },
  };
}
