import sql, { raw, type Sql } from "sql-template-tag";
import { abortAt, retry } from "../retry.ts";
import { execute, isTransient, type Row } from "./client.ts";
import { integer, integerOrNull, text, textOrNull } from "./read.ts";
import { transaction } from "./transaction.ts";

/*
 * A row of the Data API has at most 64 KB, and a result 1 MiB ("Limits"). Nearly every answer fits into a row. A longer
 * one is cut into pieces, a row each; what exceeds a result is read through a cursor, so that it is made once, however
 * long it is, and does not change meanwhile.
 */

const shortBytesMax = 60_000;
/** As base64, which any byte may be cut behind, a piece has 60,789 characters. */
const pieceBytes = 45_000;
const piecesMax = 16;
export const resultBytesMax = piecesMax * pieceBytes;

/** A text, and what came along with it. */
export interface Texted {
  readonly text: string | null;
  readonly row: Row;
}

/**
 * Runs a select of one row or none.
 * @param select what has a column `text`, of any length
 * @param columns what else of it is read, each behind a comma
 */
export async function readText(select: Sql, columns: Sql, deadline: number): Promise<Texted | undefined> {
  const short = await readShort(select, columns, deadline);
  return short === "long" ? await readLong(select, columns, deadline) : short;
}

/** The same as long as the text fits into a row. */
export async function readShort(select: Sql, columns: Sql, deadline: number): Promise<Texted | "long" | undefined> {
  const [row] = await execute(
    sql`
      select octet_length(text), case when octet_length(text) <= ${raw(`${shortBytesMax}`)} then text end${columns}
      from (${select}) as answer
    `,
    deadline,
  );
  if (row === undefined) return undefined;
  if ((integerOrNull(row, 0) ?? 0) > shortBytesMax) return "long";
  return { text: textOrNull(row, 1), row: row.slice(2) };
}

/** The same for a text that is expected not to. */
export async function readLong(select: Sql, columns: Sql, deadline: number): Promise<Texted | undefined> {
  const rows = await execute(cut(select, columns, fitting), deadline);
  const [first] = rows;
  const isWhole = first === undefined || (integerOrNull(first, 0) ?? 0) <= resultBytesMax;
  return joined(isWhole ? rows : await readByCursor(select, columns, deadline));
}

/** Three columns of its own, and then those that were asked for. */
const cut = (select: Sql, columns: Sql, pieces: Sql): Sql => sql`
  select
    octet_length(bytes), piece, encode(substring(bytes from 1 + ${size} * piece for ${size}), 'base64')${columns}
  from
    (select *, convert_to(text, 'UTF8') as bytes from (${select}) as answer offset 0) as answer
    left join lateral generate_series(0, ${pieces}) as piece on true
`;

const size = raw(`${pieceBytes}`);
const all = sql`(octet_length(bytes) - 1) / ${size}`;
const fitting = sql`least(${all}, ${raw(`${piecesMax - 1}`)})`;

/** Whatever fails is begun anew: nothing is written, and nobody has been given a part of it yet. */
function readByCursor(select: Sql, columns: Sql, deadline: number): Promise<readonly Row[]> {
  const read = () =>
    transaction(async (send) => {
      await send(sql`declare pieces no scroll cursor for ${cut(select, columns, all)}`);
      const rows: Row[] = [];
      for (let more: readonly Row[]; ; rows.push(...more)) {
        more = await send(sql`fetch ${raw(`${piecesMax}`)} from pieces`);
        if (more.length === 0) return rows;
      }
    }, abortAt(deadline));
  return retry(read, isTransient, deadline);
}

function joined(rows: readonly Row[]): Texted | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  const row = first.slice(3);
  if (textOrNull(first, 2) === null) return { text: null, row };
  const pieces = rows.toSorted((one, other) => integer(one, 1) - integer(other, 1));
  return { text: Buffer.concat(pieces.map((each) => Buffer.from(text(each, 2), "base64"))).toString(), row };
}
