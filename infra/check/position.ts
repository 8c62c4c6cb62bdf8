import { atPlace, type Script } from "../../lib/migrations/script.ts";

/**
 * Where a position of a statement is in the files that it was put together from, as `npm start` shows it: file, line and
 * column, and the line itself.
 * @param position as PostgreSQL counts it: characters, from 1
 */
export function positionOf(files: readonly Script[], statement: string, position: number, message: string): string {
  const before = [...statement].slice(0, position - 1).join("");
  const rest = statement.slice(before.length);
  // Of the line behind the position another file may have a part.
  const [line, untilParameter, word] = [/^.*/, /^[^$\n]+/, /^\w+/].map((text) => text.exec(rest)?.[0]);
  const found =
    bestPlace(files, before, line) ?? bestPlace(files, before, untilParameter) ?? bestPlace(files, before, word);
  if (!found) return `${message} in ${statement}`;
  return atPlace(found.file, found.index, message);
}

interface Place {
  readonly file: Script;
  readonly index: number;
}

/** Where a text begins in files; of several positions that before which most is the same. */
function bestPlace(files: readonly Script[], before: string, text = ""): Place | undefined {
  let best: (Place & { readonly same: number }) | undefined;
  for (const file of text === "" ? [] : files) {
    for (let index = file.text.indexOf(text); index >= 0; index = file.text.indexOf(text, index + 1)) {
      let same = 0;
      while (same < index && file.text[index - 1 - same] === before.at(-1 - same)) same++;
      if (!best || same > best.same) best = { file, index, same };
    }
  }
  return best;
}
