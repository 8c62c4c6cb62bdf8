/*
 * The words of a search (README.md, "Lists"). The database makes the keys of words, by the function that makes those of
 * names (lib/migrations/tables/01-names.sql).
 */

export interface Search {
  readonly words: readonly string[];
  /** Whether the key of a word has three characters, or two of which one is beyond ASCII, so that the index finds it. */
  readonly hasGram: boolean;
}

/** What vanishes inside of a word: apostrophes, of which some are letters, full stops, and what is invisible. */
const vanishing =
  /[[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}'`\u00b4\u02b9-\u02bf\u02c8\u02ca\u02cb\u055a\u05f3\u07f4\u07f5\u2018-\u201b\u2032\u2035\ua78b\ua78c\uff07.\u2024\uff0e\u3002\uff61]--[\t-\r\x85]]/gv;
const separators = /[\p{P}\p{S}\p{Z}\p{Cc}]+/u;
/** Accents and points, which a key leaves out; marks of other scripts are vowels. */
const points =
  /[[\p{M}&&[\p{Script=Inherited}\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}]]\u0640]/gv;

const plain = /^[a-z\d]+$/i;

/** As many characters as the key keeps of a word, and as much in ASCII. */
function kept(word: string): string {
  if (plain.test(word)) return word;
  return word
    .normalize("NFKD")
    .replaceAll(points, "")
    .replaceAll(vanishing, "")
    .normalize("NFC")
    .toUpperCase()
    .replace(/[ÆŒÞ]/g, "AE")
    .replace(/[ØŁĐĦÐŦ]/g, "O")
    .replace(/[װױײ]/g, "וו")
    .replace(/\p{Nd}/gu, "0")
    .replace(/[\p{P}\p{S}\p{Z}]/gu, "");
}

const hasGram = (key: string): boolean => {
  const { length } = [...key];
  return length > 2 || (length === 2 && /[^\0-\x7f]/.test(key));
};

/** More words narrow a search no further; a pasted title has room. */
const wordsMax = 16;

/** Undefined for a text that has neither letters nor signs. A text without letters is searched for as it is. */
export function searchOf(text: string): Search | undefined {
  const visible = text.replaceAll(vanishing, "");
  const words = visible
    .split(separators)
    .filter((word) => kept(word) !== "")
    .slice(0, wordsMax);
  if (words.length > 0) return { words, hasGram: words.some((word) => hasGram(kept(word))) };
  const signs = text
    .normalize("NFKC")
    .replaceAll(points, "")
    .split(/[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+/u)
    .filter((word) => word !== "")
    .slice(0, wordsMax);
  return signs.length > 0 ? { words: signs, hasGram: signs.some(hasGram) } : undefined;
}
