/*
 * The characters of a name (README.md, "Bad input"). Invisible characters are refused: two names that look alike would
 * be different names. But some scripts, emoji and ideographs need joiners (U+200C, U+200D) and variation selectors.
 */

/** Classes of characters. The blocks are whole ones, so that they do not depend on the version of Unicode. */
export const characters = {
  /** Control characters, line breaks, what is invisible or turns the direction of text, and what is no character. */
  unseen: /[\p{Cc}\p{Zl}\p{Zp}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800]/v,
  /** Letters and marks of scripts whose letters join: Arabic and its neighbours, Mongolian, and those of Brahmi. */
  joining:
    /[[\u0600-\u077f\u07c0-\u07ff\u0840-\u0dff\u0f00-\u109f\u1700-\u18af\u1a20-\u1aaf\u1b00-\u1c4f\u1cd0-\u1cff\ua800-\ua82f\ua840-\uaa7f\uaae0-\uaaff\uabc0-\uabff\u{10d00}-\u{10d3f}\u{11000}-\u{11fff}\u{1e900}-\u{1e95f}]--[\p{N}\p{P}\p{S}]]/v,
  /** Marks that take its vowel from a letter: a joiner behind them says how it is written then. */
  virama:
    /[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0f84\u1039\u103a\u17d2\u1a60\u1b44\ua9c0\uabed]/v,
  /** What ends a word in scripts whose letters join: blanks and their usual signs. */
  wordEnd: /[\s!-\/:-@\[-`\{-~\u00ab\u00b7\u00bb\u060c\u061b\u061f\u06d4\u2010-\u2027\u2030-\u205e]/v,
  /** What a name loses at its ends, as white space: a copied name brings it along. */
  pasted: /[[\p{Cf}&&\p{Default_Ignorable_Code_Point}]--[\u200c\u200d\u{e0000}-\u{e0fff}]]/v,
  mongolian: /[\u1820-\u1878\u1880-\u18aa]/v,
  ideograph: /[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{3fffd}]/v,
  emoji:
    /[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935\u2b00-\u2bff\u3030\u303d\u3297\u3299\u{1f000}-\u{1f1e5}\u{1f200}-\u{1faff}]/v,
} as const;

/**
 * A regular expression for joiners, variation selectors and tags of a region's flag that are in their place (RFC 5892,
 * "CONTEXTJ"; UTS 51). Kurdish in Arabic script writes a last vowel as the letter heh with a non-joiner behind it; Persian
 * writes an initial with a joiner before its full stop. Mongolian separates a last vowel by U+180E.
 * @param write writes a class of characters
 */
export function joinersInPlace(write: (characters: RegExp) => string): string {
  const { joining, wordEnd, pasted, virama, mongolian, ideograph, emoji } = characters;
  return [
    `(?<=${write(joining)})[\\u200c\\u200d](?=${write(joining)})`,
    `(?<=${write(joining)})\\u200c(?=${write(wordEnd)}|${write(pasted)}|$)`,
    `(?<=${write(joining)})\\u200d(?=\\.)`,
    `(?<=${write(virama)})[\\u200c\\u200d]`,
    `(?<=${write(emoji)}|\\ufe0f)\\u200d(?=${write(emoji)})`,
    `(?<=${write(emoji)}|${write(ideograph)})[\\ufe00-\\ufe0f\u{e0100}-\u{e01ef}]`,
    "(?<=\u{1f3f4})[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}",
    `(?<=[0-9#*])\\ufe0f(?=\\u20e3)`,
    `(?<=${write(mongolian)})[\\u180b-\\u180f]`,
  ].join("|");
}

const inPlace = new RegExp(
  joinersInPlace(({ source }) => source),
  "gv",
);
const end = `[^\\s${characters.pasted.source}]`;
const betweenEnds = new RegExp(`${end}(?:.*${end})?`, "sv");
const visible = new RegExp(`[^\\s${characters.unseen.source}]`, "v");

/** Whether anything of the text can be seen. */
export const isVisible = (value: string): boolean => visible.test(value);

/** The text without white space and pasted characters at its ends. */
export const trimmed = (value: string): string => betweenEnds.exec(value)?.[0] ?? "";

/** The first character of the text that has no place in a name. */
export const unseenIn = (value: string): string | undefined =>
  characters.unseen.test(value) ? characters.unseen.exec(value.replaceAll(inPlace, ""))?.[0] : undefined;
