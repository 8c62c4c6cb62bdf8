import sql, { empty, type Sql } from "sql-template-tag";
import type { Cursor, ListQuery, Slice } from "../../database/list.ts";

/**
 * Keeps rows whose name contains the text; `%`, `_` and backslashes are plain characters. Where most names do, PostgreSQL
 * must not think of the index of trigrams, of which one or two letters make none: a kept plan would read all of it.
 */
export function named(column: Sql, search: string | undefined): Sql {
  if (search === undefined) return empty;
  return findsFew(search)
    ? sql`and ${column} like containing(${search}::text)`
    : sql`and strpos(${column}, name_key(${search}::text) collate "C") > 0`;
}

/** An order by one column, ties broken by id in the same direction. */
export interface Order {
  readonly key: Sql;
  readonly by: Sql;
  /** Keeps rows behind the last one of the page before. */
  readonly behind: (cursor: Cursor | undefined) => Sql;
}

/** The same for rows that have been picked already, as `id` and `key`. */
export interface TableOrder extends Order {
  readonly picked: Order;
}

type KeyType = "text" | "bigint" | "timestamptz";

export const ascending = (key: Sql, type: KeyType): TableOrder => ordered(key, type, sql`asc`, sql`>`);
export const descending = (key: Sql, type: KeyType): TableOrder => ordered(key, type, sql`desc`, sql`<`);

function ordered(key: Sql, type: KeyType, direction: Sql, comparison: Sql): TableOrder {
  const directed = (column: Sql): Order => ({
    key: column,
    by: sql`${column} ${direction}, id ${direction}`,
    behind: (cursor) =>
      cursor ? sql`and (${column}, id) ${comparison} (${cursor.key}::${types[type]}, ${cursor.id}::bigint)` : empty,
  });
  return { ...directed(key), picked: directed(sql`key`) };
}

const types: Readonly<Record<KeyType, Sql>> = { text: sql`text`, bigint: sql`bigint`, timestamptz: sql`timestamptz` };

const orders = {
  "name-asc": ascending(sql`name_key`, "text"),
  "name-desc": descending(sql`name_key`, "text"),
  "added-asc": ascending(sql`id`, "bigint"),
  "added-desc": descending(sql`id`, "bigint"),
} as const;

/** Orders of the catalogue's lists. Ids ascend as records are added. */
export type CatalogueOrder = keyof typeof orders;

export const catalogueOrder = (name: CatalogueOrder): TableOrder => orders[name];

/** How the records of a page are picked, and how many there are to pick from. */
export type Picks = Pick<ListQuery<unknown>, "shared" | "max"> & {
  /** A select of `id` and `key`, and of what else is wanted, in order. */
  readonly page: (slice: Slice) => Sql;
};

/**
 * Picks from few records: they are found once, and then counted, sorted and cut.
 * @param select of `id`, `key` and what else is wanted
 */
export const fromFew = (select: Sql, { picked: { by, behind } }: TableOrder): Picks => ({
  shared: sql`found as materialized (${select})`,
  max: sql`select count(*) from found`,
  page: ({ after, offset, limit }) => sql`
    select *
    from found
    where true ${behind(after)}
    order by ${by}
    limit ${limit}::bigint
    offset ${offset}::bigint
  `,
});

/** Whether the index of trigrams finds names with this text. Most names have any one or two letters. */
export const findsFew = (search: string | undefined): boolean => search !== undefined && [...search].length > 2;
