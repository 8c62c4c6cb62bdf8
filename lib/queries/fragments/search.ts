import sql, { join, type Sql } from "sql-template-tag";

/** The words of a search (lib/contract/parameters.ts); undefined without one. */
export type Search = readonly string[] | undefined;

/** Where words are looked for: the keys of a name and its aliases as one text, in which no word goes across two lines. */
type Names = ReturnType<typeof nameAndAliases>;

/** The name and the aliases of a record of this table. Few have aliases, so the texts are joined only for those. */
export const nameAndAliases = (table: Sql, aliasKeys: Sql = sql`${table}.alias_keys`) => ({
  /** As the trigram index has it. */
  indexed: sql`${table}.name_key || chr(10) || ${table}.alias_keys`,
  /** As all records are read. */
  scanned: sql`
    case ${aliasKeys} when '' then ${table}.name_key else ${table}.name_key || chr(10) || ${aliasKeys} end
  `,
});

/**
 * Whether each word of the search occurs in a name; `%`, `_` and backslashes are plain characters. A generic plan looks
 * up every `like` in the trigram index, whose whole it reads for a word without a trigram. `like all` uses no index,
 * and so it compares these words, all of them in one pass. In a subselect words are folded once, and not for each row.
 */
export function namesContain({ indexed, scanned }: Names, search: Search): Sql {
  if (search === undefined) return sql`true`;
  const { lookedUp = [], compared } = Object.groupBy(search, (word) => (hasTrigram(word) ? "lookedUp" : "compared"));
  const conditions = lookedUp.map((word) => sql`${indexed} like (select containing(${word}::text))`);
  if (compared) {
    const patterns = sql`select containing(word) from unnest(string_to_array(${compared.join(" ")}::text, ' ')) as word`;
    conditions.push(sql`${scanned} like all (array(${patterns}))`);
  }
  return join(conditions, " and ");
}

/** Whether the trigram index can find records for the search, since it can for one of the words. */
export const isSelective = (search: Search): boolean => search?.some(hasTrigram) ?? false;

/** Whether a search has to compare its words with all names. */
export const isScanned = (search: Search): boolean => search !== undefined && !isSelective(search);

/**
 * Whether a word has a trigram, into which pg_trgm splits texts at everything but letters and digits: three of these in a
 * row. A beginning behind another character counts as two more, an end before another one as one more.
 */
const hasTrigram = (word: string): boolean =>
  /[\p{L}\p{N}]{3}|[\p{P}\p{S}][\p{L}\p{N}]|[\p{L}\p{N}]{2}[\p{P}\p{S}]/u.test(word);
