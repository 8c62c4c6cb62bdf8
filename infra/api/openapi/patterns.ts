import { characters, joinersInPlace } from "../../../lib/contract/names.ts";
import { nameLengthMax, unfitForText } from "../../../lib/contract/parameters.ts";

/* What zod checks by code, as patterns. */

const space = "[\\t\\n\\f\\r]*";
/**
 * Base64, with or without line breaks, with or without the prefix of a data URL. The pattern does not check that the
 * number of characters is valid: regex engines fail on patterns that count millions of characters.
 */
export const base64 =
  `^[\\t\\n\\f\\r ]*([Dd][Aa][Tt][Aa]:[^,]{0,150};\\s?[Bb][Aa][Ss][Ee]64,)?${space}` +
  `[A-Za-z0-9+/_-][A-Za-z0-9+/_\\t\\n\\f\\r-]*(=${space}){0,2}$`;

/** All characters in order, in pieces: in one text the last high and the first low surrogate would be a character. */
const pieces = Array.from({ length: 0x110000 / 0x400 }, (_, piece) =>
  String.fromCodePoint(...Array.from({ length: 0x400 }, (_, index) => piece * 0x400 + index)),
);

/**
 * The characters that an expression matches, as ranges. Few tools that generate text from a pattern support `\p{…}`.
 */
function rangesOf({ source }: RegExp): string {
  const runs = new RegExp(`${source}+`, "gv");
  const ranges: [first: number, last: number][] = [];
  for (const run of pieces.flatMap((piece) => piece.match(runs) ?? [])) {
    const points = Array.from(run, (character) => character.codePointAt(0) ?? 0);
    const [first = 0, last = 0] = [points[0], points.at(-1)];
    const before = ranges.at(-1);
    if (before?.[1] === first - 1) before[1] = last;
    else ranges.push([first, last]);
  }
  return ranges.map(([first, last]) => `${characterOf(first)}-${characterOf(last)}`).join("");
}

/** Regex engines have a common escape only up to U+FFFF; other characters are written unescaped. */
const characterOf = (point: number) =>
  point > 0xffff ? String.fromCodePoint(point) : `\\u${point.toString(16).padStart(4, "0")}`;

export const unfit = rangesOf(unfitForText);
const unseen = rangesOf(characters.unseen);
const ends = `[\\s${rangesOf(characters.pasted)}]*`;
const joiners = joinersInPlace((each) => `[${rangesOf(each)}]`);
const visibleName = `^${ends}[^\\s${unseen}]([^${unseen}]|${joiners})*${ends}$`;

/**
 * # or a letter of Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari, Thai, kana, Han or Hangul. The service accepts those
 * of all scripts.
 */
export const letterPattern =
  "^[#A-Za-z\\u00c0-\\u00d6\\u00d8-\\u00f6\\u0391-\\u03a1\\u03a3-\\u03c9\\u0400-\\u0481\\u05d0-\\u05ea\\u0621-\\u064a" +
  "\\u0904-\\u0939\\u0e01-\\u0e30\\u3041-\\u3096\\u30a1-\\u30fa\\u4e00-\\u9fa5\\uac00-\\ud7a3]$";

/** What the declarations check. Many tools cannot read such patterns, of 7,000 characters and with some beyond U+FFFF. */
export const exactNames = { Name: visibleName, PossibleName: `${visibleName}|^[\\s${unseen}]*$` };

const control = "\\u0000-\\u001f\\u007f-\\u009f";

/** Names, which many fields refer to. The patterns mean the same with and without the flag `u`. */
export const nameSchemas = {
  Name: {
    description:
      "At least one visible character; no control or invisible characters, except joiners where a script or an emoji needs them, and what is trimmed at both ends.",
    type: "string",
    minLength: 1,
    maxLength: nameLengthMax,
    pattern: `^[^${control}]*[^\\s${control}][^${control}]*$`,
  },
  PossibleName: {
    description: "The same, or nothing to be seen at all, which is no name.",
    type: "string",
    maxLength: nameLengthMax,
    pattern: `^[^${control}]*$`,
  },
};
