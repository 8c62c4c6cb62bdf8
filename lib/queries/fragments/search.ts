import sql, { type Sql } from "sql-template-tag";
import type { Search } from "../../contract/search.ts";

/** How a list finds its records: by an index of neighbouring characters, by a comparison of all names, or without a search. */
export type SearchPlan = ReturnType<typeof searchPlan>;

/** Which keys are searched; each has a line for a name and for each alias. */
interface Keys {
  /** As the index has them. */
  readonly indexed: Sql;
  /** As all records are read. */
  readonly scanned: Sql;
}

export const keysOf = (table: Sql): Keys => ({
  indexed: sql`${table}.search_keys`,
  scanned: sql`${table}.search_keys`,
});

/**
 * Of a table whose indexes by name have the keys, too, if they are not too long, so that they alone are read for a letter.
 * @param long gives the others
 */
export const splitKeysOf = (table: Sql, long: Sql): Keys => ({
  indexed: sql`coalesce(${table}.short_search_keys, ${table}.long_search_keys)`,
  scanned: sql`coalesce(${table}.short_search_keys, ${long})`,
});

/** A condition for the few records of a table without an index of names. */
export const nameContains = (search: Search | undefined): Sql =>
  search === undefined ? sql`true` : sql`search_key(name) like all (${patternsOf(search.words.join(" "))})`;

/** In a subselect words are folded once, and not for each row. */
const patternsOf = (words: string): Sql => sql`cast((select searched_patterns(${words}::text)) as text[])`;

/**
 * The plan for a search, which each list makes once. A word of three characters or more, or of two beyond ASCII, is looked
 * up in the index; for a shorter one PostgreSQL would read the whole index, so it compares all names. A generic plan looks
 * grams up, whose number it does not know.
 */
export function searchPlan(search: Search | undefined, { indexed, scanned }: Keys) {
  if (search === undefined) return { lookup: "none", condition: sql`true` } as const;
  const words = search.words.join(" ");
  // PostgreSQL expects hardly any row to be like all patterns of an unknown array; within coalesce it expects half of them.
  const contain = (keys: Sql) => sql`coalesce(${keys} like all (${patternsOf(words)}), false)`;
  if (!search.hasGram) return { lookup: "scan", condition: contain(scanned) } as const;
  const condition = sql`grams(${indexed}) @> (select searched_grams(${words}::text)) and ${contain(indexed)}`;
  return { lookup: "index", condition } as const;
}
