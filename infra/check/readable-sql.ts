import { format } from "sql-formatter";

/** A line of a formatted statement, with the lines that are indented under it, and the line that closes them. */
interface Clause {
  readonly text: string;
  readonly parts: Clause[];
  /** It may have lines under it, too: `) @> (`. */
  close?: Clause;
}

const columnsMax = 120;

/** Formats a statement: each clause on a line of its own, or all of a parenthesis on one, if they fit into 120 columns. */
export function readableSql(sql: string): string {
  const formatted = format(sql, { language: "postgresql", paramTypes: { numbered: [":"] } });
  return clausesOf(formatted.split("\n"))
    .flatMap((clause) => linesOf(clause, ""))
    .join("\n");
}

/** sql-formatter writes each clause, each column and each condition on a line. */
function clausesOf(lines: readonly string[]): Clause[] {
  const clauses: Clause[] = [];
  for (let index = 0; index < lines.length; ) {
    const line = lines[index++] ?? "";
    const isPart = (other = "") => depthOf(other) > depthOf(line);
    const start = index;
    while (index < lines.length && isPart(lines[index])) index++;
    const text = line.trim();
    const clause = { text, parts: clausesOf(lines.slice(start, index)) };
    const open = lastLineOf(clauses.at(-1));
    if (open && /^([)\]]|end\b)/.test(text) && /([([]|\bcase)$/.test(open.text)) open.close = clause;
    else clauses.push(clause);
  }
  return clauses;
}

const lastLineOf = (clause: Clause | undefined): Clause | undefined =>
  clause?.close ? lastLineOf(clause.close) : clause;

const depthOf = (line: string) => line.search(/\S|$/);

function linesOf(clause: Clause, indent: string): string[] {
  const line = onOneLine(clause);
  if (line !== undefined && indent.length + line.length <= columnsMax) return [indent + line];
  const { text, parts, close } = clause;
  const inner = parts.flatMap((part) => linesOf(part, `${indent}  `));
  return [indent + text, ...inner, ...(close ? linesOf(close, indent) : [])];
}

/** Undefined with a comment, which ends with its line. */
function onOneLine({ text, parts, close }: Clause): string | undefined {
  if (text.startsWith("--")) return undefined;
  let line: string | undefined = text;
  for (const part of [...parts, ...(close ? [close] : [])].map(onOneLine)) {
    if (part === undefined) return undefined;
    const isTight = /[([]$/.test(line) || /^[)\]]/.test(part);
    line += isTight ? part : ` ${part}`;
  }
  return line;
}
