import { raw } from "sql-template-tag";
import { sqlStateOf } from "../data-api/client.ts";
import type { Send } from "../data-api/transaction.ts";

/**
 * A file of SQL statements, with its path in the repository. Each statement ends with a semicolon and a blank line, and
 * the next one begins in the first column.
 */
export interface Script {
  readonly path: string;
  readonly text: string;
}

/**
 * Runs a file of SQL statements, each in a call.
 * @throws when one fails; the message has file, line and column, and the line itself
 */
export async function runScript(script: Script, send: Send): Promise<void> {
  for (const { sql, start } of statements(script.text)) {
    try {
      await send(raw(sql));
    } catch (error) {
      throw sqlStateOf(error) === undefined ? error : located(error, script, sql, start);
    }
  }
}

/**
 * Splits an SQL file, since the Data API takes one statement a call. Each statement ends with a semicolon and a blank
 * line, and the next one is not indented; the body of a function is.
 */
function* statements(text: string): Generator<{ readonly sql: string; readonly start: number }> {
  let start = 0;
  for (const { index, 0: separator } of text.matchAll(/;\s*\n\n+(?=\S)|;\s*$|$/g)) {
    const sql = text.slice(start, index);
    if (sql.trim() !== "") yield { sql, start };
    start = index + separator.length;
  }
}

const position = /; Position: (\d+)/;

/**
 * PostgreSQL counts the characters of the statement up to its error. An error without a position is one of the whole
 * statement, which begins after its comments.
 */
function located(error: unknown, { path, text }: Script, sql: string, start: number): Error {
  const message = error instanceof Error ? error.message : String(error);
  const [, characters] = position.exec(message) ?? [];
  const offset = characters === undefined ? sql.search(/^(?!--)\S/m) : unitsOf(sql, Number(characters) - 1);
  const index = start + Math.max(offset, 0);
  return new Error(atPlace({ path, text }, index, message.replace(position, "")), { cause: error });
}

/** A message about a position in a file: with file, line and column, and the line itself. */
export function atPlace({ path, text }: Script, index: number, message: string): string {
  const before = text.slice(0, index).split("\n");
  const line = text.split("\n")[before.length - 1] ?? "";
  const column = before.at(-1)?.length ?? 0;
  return `${path}:${before.length}:${column + 1}: ${message}\n${line}\n${" ".repeat(column)}^`;
}

/** The length that JavaScript counts for so many characters. */
const unitsOf = (text: string, characters: number) => [...text].slice(0, characters).join("").length;
