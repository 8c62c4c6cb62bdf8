import sql, { join, type Sql } from "sql-template-tag";

/** Where the words of a search are looked for. */
export interface Names {
  /** Keys of names. A word has to occur in one of them. */
  readonly keys: readonly Sql[];
  /** All of them as one text, as the trigram index has it. No word has a line break, so none goes across two names. */
  readonly indexed: Sql;
}

export const oneName = (key: Sql): Names => ({ keys: [key], indexed: key });

/** The name and the aliases of a record of this table. */
export const nameAndAliases = (table: Sql, aliasKeys: Sql = sql`${table}.alias_keys`): Names => ({
  keys: [sql`${table}.name_key`, aliasKeys],
  indexed: sql`${table}.name_key || chr(10) || ${table}.alias_keys`,
});

/**
 * Whether each word of the search occurs in a name; `%`, `_` and backslashes are plain characters. With `like` a generic
 * plan reads the whole trigram index for a word without a trigram, so that is searched by `strpos`. In a subselect a
 * word is folded once, and not for each row.
 */
export function namesContain({ keys, indexed }: Names, search: string | undefined): Sql {
  if (search === undefined) return sql`true`;
  const conditions = wordsOf(search).map((word) => {
    if (hasTrigram(word)) return sql`${indexed} like (select containing(${word}::text))`;
    const inKeys = keys.map((key) => sql`strpos(${key}, (select name_key(${word}::text)) collate "C") > 0`);
    return sql`(${join(inKeys, " or ")})`;
  });
  return join(conditions, " and ");
}

/** Whether the trigram index can find records for the search, since it can for one of the words. */
export const isSelective = (search: string | undefined): boolean =>
  search !== undefined && wordsOf(search).some(hasTrigram);

/** The different words of a search, split where `name_key` has a blank, without the accents that it leaves out. */
const wordsOf = (search: string): readonly string[] => [
  ...new Set(
    search
      .normalize("NFKD")
      .replace(/[\u0300-\u036f\p{Join_Control}\p{Variation_Selector}]/gu, "")
      .split(/[ \t\n\v\f\r]+/)
      .filter((word) => word !== ""),
  ),
];

/**
 * Whether a word has a trigram, into which pg_trgm splits texts at everything but letters and digits: three of these in a
 * row. A beginning behind another character counts as two more, an end before another one as one more.
 */
const hasTrigram = (word: string): boolean =>
  /[\p{L}\p{N}]{3}|[\p{P}\p{S}][\p{L}\p{N}]|[\p{L}\p{N}]{2}[\p{P}\p{S}]/u.test(word);
