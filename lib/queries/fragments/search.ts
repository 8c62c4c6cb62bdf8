import sql, { type Sql } from "sql-template-tag";

/**
 * Whether a name contains the text; `%`, `_` and backslashes are plain characters. With `like` a generic plan reads the
 * whole trigram index for a text without a trigram, so that is searched by `strpos`. In a subselect the text is folded
 * once, and not for each row.
 */
export function nameContains(column: Sql, search: string | undefined): Sql {
  if (search === undefined) return sql`true`;
  return isSelective(search)
    ? sql`${column} like (select containing(${search}::text))`
    : sql`strpos(${column}, (select name_key(${search}::text)) collate "C") > 0`;
}

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
