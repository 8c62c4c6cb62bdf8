/*
 * The words of a search (README.md, "Lists"). The database makes the keys of words, by the function that makes those of
 * names (lib/migrations/tables/01-names.sql).
 */

export interface Search {
  readonly words: readonly string[];
  /** Whether a word has two characters that the key keeps, so that the index finds it. */
  readonly hasPair: boolean;
}

/** What vanishes inside of a word: apostrophes, of which some are letters, full stops, and what is invisible. */
const vanishing =
  /[[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}'`\u00b4\u02b9-\u02bf\u02c8\u02ca\u02cb\u055a\u05f3\u07f4\u07f5\u2018-\u201b\u2032\u2035\ua78b\ua78c\uff07.\u2024\uff0e\u3002\uff61]--[\t-\r\x85]]/gv;
const separators = /[\p{P}\p{S}\p{Z}\p{Cc}]+/u;
/** Accents and points, which a key leaves out; marks of other scripts are vowels. */
const points =
  /[[\p{M}&&[\p{Script=Inherited}\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}]]\u0640]/gv;

/** The characters that the key keeps of a word, where a letter may become two. */
const kept = (word: string) => [
  ...word
    .normalize("NFKD")
    .replaceAll(points, "")
    .normalize("NFC")
    .toUpperCase()
    .replace(/[ÆŒÞװױײ]/g, "AE")
    .replace(/[\p{P}\p{S}\p{Z}]/gu, ""),
];

/** More words narrow a search no further; a pasted title has room. */
const wordsMax = 16;

/** Undefined for a text that has neither letters nor signs. A text without letters is searched for as it is. */
export function searchOf(text: string): Search | undefined {
  const visible = text.replaceAll(vanishing, "");
  const words = visible
    .split(separators)
    .filter((word) => kept(word).length > 0)
    .slice(0, wordsMax);
  if (words.length > 0) return { words, hasPair: words.some((word) => kept(word).length > 1) };
  const signs = text
    .normalize("NFKC")
    .replaceAll(points, "")
    .split(/[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+/u)
    .filter((word) => word !== "")
    .slice(0, wordsMax);
  return signs.length > 0 ? { words: signs, hasPair: signs.some((word) => [...word].length > 1) } : undefined;
}
