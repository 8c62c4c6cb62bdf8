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

/** A condition for the few records of a table without an index of names. */
export const nameContains = (search: Search | undefined): Sql =>
  search === undefined
    ? sql`true`
    : sql`search_key(name) like all (array(select unnest(searched_patterns(${search.words.join(" ")}::text))))`;

/**
 * The plan for a search, which each list makes once. A word of two characters or more is looked up in the index; for a
 * shorter one PostgreSQL would read the whole index, so it compares all names. A generic plan looks grams up, whose number
 * it does not know. In a subselect words are folded once, and not for each row.
 */
export function searchPlan(search: Search | undefined, { indexed, scanned }: Keys) {
  if (search === undefined) return { lookup: "none", condition: sql`true` } as const;
  const words = search.words.join(" ");
  const contain = (keys: Sql) => sql`${keys} like all (array(select unnest(searched_patterns(${words}::text))))`;
  if (!search.hasPair) return { lookup: "scan", condition: contain(scanned) } as const;
  const condition = sql`grams(${indexed}) @> (select searched_grams(${words}::text)) and ${contain(indexed)}`;
  return { lookup: "index", condition } as const;
}
