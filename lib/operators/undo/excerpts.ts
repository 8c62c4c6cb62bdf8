const quotedCharactersMax = 100;

/** The beginning of a text of a file, as PostgreSQL can store it: well-formed, and without NUL. */
export function quotation(text: string): string {
  // A character has at most two code units, so one of which only half is left is not quoted.
  const units = text.slice(0, 2 * quotedCharactersMax + 1);
  const beginning = [...units.toWellFormed().replaceAll("\0", "\ufffd")];
  if (beginning.length <= quotedCharactersMax) return beginning.join("");
  return `${beginning.slice(0, quotedCharactersMax - 1).join("")}…`;
}

const charactersMax = 120;
/** Of longer texts that differ only the part that does is shown. */
const wholeCharactersMax = 60;
/** What is shown of a text around the place where it differs from another. */
const contextCharacters = 20;

/** A text in quotes; of a long one its beginning, its end and its length. */
export function excerpt(text: string): string {
  const characters = [...text];
  const length = characters.length > charactersMax ? ` (${lengthOf(characters)} characters)` : "";
  return quoted(shortened(characters)) + length;
}

/** A text and what it became, in quotes; of long ones the part that differs. */
export function excerpts(former: string, latest: string): string {
  const [old, now] = [[...former], [...latest]];
  if (Math.max(old.length, now.length) <= wholeCharactersMax) return `${quoted(former)} → ${quoted(latest)}`;
  const differsAt = old.findIndex((character, at) => character !== now[at]);
  const begin = differsAt < 0 ? old.length : differsAt;
  const endMax = Math.min(old.length, now.length) - begin;
  const endDiffersAt = old.toReversed().findIndex((character, at) => character !== now.at(-1 - at));
  const end = Math.min(endDiffersAt < 0 ? old.length : endDiffersAt, endMax);
  const [oldPart, nowPart] = [old, now].map((each) => quoted(around(each, begin, end)));
  const lengths = old.length === now.length ? lengthOf(now) : `${lengthOf(old)} → ${lengthOf(now)}`;
  return `${oldPart} → ${nowPart} (${lengths} characters)`;
}

/** The part of a text behind so many characters, and before so many, with some of them. */
function around(characters: readonly string[], begin: number, end: number): string {
  const from = Math.max(0, begin - contextCharacters);
  const to = Math.min(characters.length, characters.length - end + contextCharacters);
  return `${from > 0 ? "…" : ""}${shortened(characters.slice(from, to))}${to < characters.length ? "…" : ""}`;
}

function shortened(characters: readonly string[]): string {
  if (characters.length <= charactersMax) return characters.join("");
  const half = charactersMax / 2;
  return `${characters.slice(0, half).join("")} … ${characters.slice(-half).join("")}`;
}

const lengthOf = ({ length }: readonly string[]): string => length.toLocaleString("en");

/** JSON escapes line breaks, and what else a terminal would not show. */
const quoted = (text: string): string => JSON.stringify(text);
