import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";

const gap = "  ";
/** The last column is never narrower, even if lines then exceed the terminal. */
const lastWidthMin = 24;

/**
 * Lines with the cells of each row below their heads, wrapped to so many columns of the terminal. A cell may have
 * several lines. The last column takes what is left of the line.
 * @param widthsMax by heads: wider cells are wrapped
 */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
  widthsMax: Readonly<Record<string, number>> = {},
): string[] {
  const others = heads.slice(0, -1).map((head, column) => {
    const lines = [heads, ...rows].flatMap((row) => (row[column] ?? "").split("\n"));
    return Math.min(widthsMax[head] ?? width, Math.max(...lines.map((line) => stringWidth(line))));
  });
  const used = others.reduce((sum, each) => sum + each + gap.length, 0);
  const widths = [...others, Math.max(lastWidthMin, width - used)];
  return [heads, ...rows].flatMap((row) => linesOf(row, widths));
}

function linesOf(row: readonly string[], widths: readonly number[]): string[] {
  const cells = row.map((cell, column) => {
    const wrap = column === widths.length - 1 ? wrapped : hardWrapped;
    return cell.split("\n").flatMap((line) => wrap(line, widths[column] ?? 0));
  });
  return Array.from({ length: Math.max(...cells.map(({ length }) => length)) }, (_, line) =>
    cells
      .map((cell, column) => padded(cell[line] ?? "", widths[column] ?? 0))
      .join(gap)
      .trimEnd(),
  );
}

const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - stringWidth(text)));

const hardWrapped = (line: string, width: number): string[] => wrapAnsi(line, width, { hard: true }).split("\n");

/** What goes on is indented, so that it does not look like another line. */
function wrapped(line: string, width: number): string[] {
  const [first = "", ...rest] = hardWrapped(line, width);
  if (rest.length === 0) return [first];
  return [first, ...hardWrapped(line.slice(first.length).trimStart(), width - 2).map((each) => `  ${each}`)];
}
