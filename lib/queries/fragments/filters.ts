import sql, { empty, type Sql } from "sql-template-tag";
import type { Cursor, ListQuery, Slice } from "../../data-api/list.ts";

/**
 * Keeps rows whose name contains the text; `%`, `_` and backslashes are plain characters. With `like` a generic plan
 * reads the whole trigram index for a text without a trigram, so that is searched by `strpos`. In a subselect the text
 * is folded once, and not for each row.
 */
export function nameContains(column: Sql, search: string | undefined): Sql {
  if (search === undefined) return empty;
  return isSelective(search)
    ? sql`and ${column} like (select containing(${search}::text))`
    : sql`and strpos(${column}, (select name_key(${search}::text)) collate "C") > 0`;
}

/** An order by one column, ties broken by id in the same direction. */
export interface Order {
  readonly key: Sql;
  readonly by: Sql;
  /** Keeps rows after the last one of the previous page. */
  readonly startAfter: (cursor: Cursor | undefined) => Sql;
}

/** The order of a table, and of the rows of a page, which have an `id` and a `key`. */
export interface TableOrder extends Order {
  readonly ofPage: Order;
}

type KeyType = "text" | "bigint" | "timestamptz";

export const ascending = (key: Sql, type: KeyType): TableOrder => ordered(key, type, sql`asc`, sql`>`);
export const descending = (key: Sql, type: KeyType): TableOrder => ordered(key, type, sql`desc`, sql`<`);

function ordered(key: Sql, type: KeyType, direction: Sql, comparison: Sql): TableOrder {
  const directed = (column: Sql): Order => ({
    key: column,
    by: sql`${column} ${direction}, id ${direction}`,
    startAfter: (cursor) =>
      cursor ? sql`and (${column}, id) ${comparison} (${cursor.key}::${types[type]}, ${cursor.id}::bigint)` : empty,
  });
  return { ...directed(key), ofPage: directed(sql`key`) };
}

const types: Readonly<Record<KeyType, Sql>> = { text: sql`text`, bigint: sql`bigint`, timestamptz: sql`timestamptz` };

const orders = {
  "name-asc": ascending(sql`name_key`, "text"),
  "name-desc": descending(sql`name_key`, "text"),
  "added-asc": ascending(sql`id`, "bigint"),
  "added-desc": descending(sql`id`, "bigint"),
} as const;

/** Orders of the catalogue's lists. Newer records have larger ids. */
export type CatalogueOrder = keyof typeof orders;

export const catalogueOrder = (name: CatalogueOrder): TableOrder => orders[name];

/** The query of a page without the fields of its records, and the number of records on all pages. */
export type Pages = Pick<ListQuery<unknown>, "shared" | "max"> & {
  /** A select of `id`, `key` and any other columns, in order. */
  readonly page: (slice: Slice) => Sql;
};

/**
 * Pages of few records, which are found once, and then counted and sorted.
 * @param select of `id`, `key` and any other columns
 */
export const pagesOfFew = (select: Sql, { ofPage: { by, startAfter } }: TableOrder): Pages => ({
  shared: sql`found as materialized (${select})`,
  max: sql`select count(*) from found`,
  page: ({ after, offset, limit }) => sql`
    select *
    from found
    where true ${startAfter(after)}
    order by ${by}
    limit ${limit}::bigint
    offset ${offset}::bigint
  `,
});

/**
 * Whether the trigram index can find names with this text, which pg_trgm splits at everything but letters and digits. A
 * trigram is three of them in a row; a word's beginning counts as two more behind another character, its end as one
 * before another. The text is folded as by `name_key`, so an accent is no character.
 */
export const isSelective = (search: string | undefined): boolean =>
  search !== undefined &&
  trigram.test(
    search
      .normalize("NFKD")
      .replace(/[\u0300-\u036f\p{Join_Control}\p{Variation_Selector}]/gu, "")
      .trim(),
  );

const trigram = /[\p{L}\p{N}]{3}|[\p{P}\p{S}\p{Z}][\p{L}\p{N}]|[\p{L}\p{N}]{2}[\p{P}\p{S}\p{Z}]/u;
