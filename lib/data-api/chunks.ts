import sql, { raw, type Sql } from "sql-template-tag";
import { type AttemptOptions, retry, sendWithin } from "../aws/retry.ts";
import { execute, integer, integerOrNull, isTransient, type Row, text, textOrNull } from "./client.ts";
import { type Send, transaction } from "./transaction.ts";

/*
 * The Data API limits a row to 64 KB and a result to 1 MiB ("Limits"). Nearly every text fits into a row. A longer text
 * is split into chunks, a row each. If it exceeds a result, a cursor reads them: so the database makes the text only once,
 * and it does not change meanwhile.
 */

const rowBytesMax = 60_000;
/** Base64 may split a character of the text. With its line breaks such a chunk has 60,789 characters. */
const chunkBytes = 45_000;
const chunksPerResult = 16;
export const resultBytesMax = chunksPerResult * chunkBytes;

/** A text, and the other columns of its row. */
export interface TextRow {
  readonly text: string | null;
  readonly row: Row;
}

/**
 * Reads a text of any length.
 * @param select gives one row or none, with a column `text`
 * @param columns the other columns to read, each after a comma
 */
export async function readText(select: Sql, columns: Sql, deadline: number): Promise<TextRow | undefined> {
  const found = await readShortText(select, columns, deadline);
  return found === "too long" ? await readLongText(select, columns, deadline) : found;
}

/** Reads a text that fits into a row. */
export async function readShortText(
  select: Sql,
  columns: Sql,
  deadline: number,
): Promise<TextRow | "too long" | undefined> {
  const [row] = await execute(
    sql`
      select octet_length(text), case when octet_length(text) <= ${raw(`${rowBytesMax}`)} then text end${columns}
      from (${select}) as result
    `,
    deadline,
  );
  if (row === undefined) return undefined;
  if ((integerOrNull(row, 0) ?? 0) > rowBytesMax) return "too long";
  return { text: textOrNull(row, 1), row: row.slice(2) };
}

/** Reads a text that probably exceeds a row: by one statement, and by a cursor if it exceeds a result, too. */
export async function readLongText(select: Sql, columns: Sql, deadline: number): Promise<TextRow | undefined> {
  const rows = await execute(selectChunks(select, columns, lastChunkOfResult), deadline);
  return joinChunks(isComplete(rows) ? rows : await readByCursor(select, columns, deadline));
}

/** The same within a transaction. */
export async function readTextWithin(send: Send, select: Sql, columns: Sql) {
  const rows = await send(selectChunks(select, columns, lastChunkOfResult));
  return joinChunks(isComplete(rows) ? rows : await fetchChunks(send, select, columns));
}

const isComplete = ([first]: readonly Row[]): boolean =>
  first === undefined || (integerOrNull(first, 0) ?? 0) <= resultBytesMax;

/** A row for each chunk: the length of the text, the index of the chunk, the chunk in Base64, and the other columns. */
const selectChunks = (select: Sql, columns: Sql, lastIndex: Sql): Sql => sql`
  select
    octet_length(bytes), chunk, encode(substring(bytes from 1 + ${size} * chunk for ${size}), 'base64')${columns}
  from
    (select *, convert_to(text, 'UTF8') as bytes from (${select}) as result offset 0) as result
    left join lateral generate_series(0, ${lastIndex}) as chunk on true
`;

const size = raw(`${chunkBytes}`);
const lastChunk = sql`(octet_length(bytes) - 1) / ${size}`;
const lastChunkOfResult = sql`least(${lastChunk}, ${raw(`${chunksPerResult - 1}`)})`;

/** After an error it reads all chunks again: nothing was written, and nothing has been sent to the client yet. */
function readByCursor(select: Sql, columns: Sql, deadline: number): Promise<readonly Row[]> {
  const read = (options: AttemptOptions) => transaction((send) => fetchChunks(send, select, columns), options);
  return retry(() => sendWithin(read, deadline - performance.now()), isTransient, deadline);
}

async function fetchChunks(send: Send, select: Sql, columns: Sql): Promise<readonly Row[]> {
  await send(sql`declare chunks no scroll cursor for ${selectChunks(select, columns, lastChunk)}`);
  const rows: Row[] = [];
  const fetch = () => send(sql`fetch ${raw(`${chunksPerResult}`)} from chunks`);
  for (let batch = await fetch(); batch.length > 0; batch = await fetch()) rows.push(...batch);
  await send(sql`close chunks`);
  return rows;
}

/** The text, and the other columns of its row; undefined without a row. */
function joinChunks(rows: readonly Row[]) {
  const [first] = rows;
  if (first === undefined) return undefined;
  const row = first.slice(3);
  if (textOrNull(first, 2) === null) return { text: null, row };
  const chunks = rows.toSorted((one, other) => integer(one, 1) - integer(other, 1));
  return { text: Buffer.concat(chunks.map((each) => Buffer.from(text(each, 2), "base64"))).toString(), row };
}
