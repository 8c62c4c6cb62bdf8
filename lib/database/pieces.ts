import { createHash } from "node:crypto";
import sql, { type Sql } from "sql-template-tag";
import { execute, type Row } from "./client.ts";
import { textOrNull } from "./read.ts";

/*
 * Long texts travel in pieces, a row each: a row has at most 64 KB and a result 1 MiB (Data API, "Limits"), and UTF-8
 * takes up to 4 bytes a character. What exceeds a result is read by several statements.
 */

const pieceLength = 15_000;
/** The rest of a result is left for what stands beside the text. */
export const resultBytesMax = 900_000;
const piecesMax = resultBytesMax / (4 * pieceLength);

/** The rows of a text from its first piece or a later one, as `piece`: all that fit into a result. */
export const piecesOf = (text: Sql, first: number): Sql => sql`
  generate_series(
    ${first}::int,
    least(
      (coalesce(length(${text}), 1) - 1) / ${pieceLength}::int,
      case when octet_length(${text}) > ${resultBytesMax}::int then ${first + piecesMax - 1}::int end
    )
  ) as piece
`;

export const pieceOf = (text: Sql): Sql => sql`substr(${text}, 1 + piece * ${pieceLength}::int, ${pieceLength}::int)`;

/** What a text that exceeds a result has to be once it is put together; null for others. */
export const versionOf = (text: Sql): Sql =>
  sql`case when octet_length(${text}) > ${resultBytesMax}::int then md5(${text}) end`;

const attemptsMax = 5;

/** A text with the first row that came along with it. */
export interface Pieced {
  readonly row: Row;
  readonly text: string | null;
}

/**
 * Reads all pieces of a text, by as many statements as that takes: one, but for texts that exceed a result.
 * @param ask the statement for the pieces from this one on
 * @param column the one with the piece; the version stands in the next
 * @returns undefined when there is no row
 * @throws when the text changes faster than it can be read
 */
export async function readPieces(
  ask: (first: number) => Sql,
  column: number,
  deadline?: number,
): Promise<Pieced | undefined> {
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const rows = [...(await execute(ask(0), deadline))];
    const [row] = rows;
    if (row === undefined) return undefined;
    const version = textOrNull(row, column + 1);
    if (version) await readRest(rows, ask, deadline);
    const text = joined(rows, column);
    if (
      !version ||
      version ===
        createHash("md5")
          .update(text ?? "")
          .digest("hex")
    )
      return { row, text };
  }
  throw new Error("A long text changed while it was read, time and again");
}

async function readRest(rows: Row[], ask: (first: number) => Sql, deadline?: number): Promise<void> {
  for (let added = rows.length; added === piecesMax; ) {
    const more = await execute(ask(rows.length), deadline);
    added = more.length;
    rows.push(...more);
  }
}

function joined(rows: readonly Row[], column: number): string | null {
  const pieces = rows.map((row) => textOrNull(row, column));
  return pieces.includes(null) ? null : pieces.join("");
}
