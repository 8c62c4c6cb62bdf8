const quotedCharactersMax = 100;

/** The beginning of a text of a file, as PostgreSQL can store it: well-formed, and without NUL. */
export function quotation(text: string): string {
  // A character has at most two code units, so one of which only half is left is not quoted.
  const units = text.slice(0, 2 * quotedCharactersMax + 1);
  const beginning = [...units.toWellFormed().replaceAll("\0", "\ufffd")];
  if (beginning.length <= quotedCharactersMax) return beginning.join("");
  return `${beginning.slice(0, quotedCharactersMax - 1).join("")}…`;
}
