import sql, { raw, type Sql } from "sql-template-tag";
import { type AttemptOptions, retry, sendWithin } from "../aws/retry.ts";
import { execute, integer, integerOrNull, isTransient, type Row, text, textOrNull } from "./client.ts";
import { type Send, transaction } from "./transaction.ts";

/*
 * The Data API limits a row to 64 KB and a result to 1 MiB ("Limits"). Nearly every text fits into a row. A longer text
 * is split into chunks, a row each. If it exceeds a result, a cursor reads them: so the database makes the text only once,
 * and it does not change meanwhile.
 */

const rowBytesMax = raw("60000");
/** Base64 may split a character of the text. With its line breaks such a chunk has 60,789 characters. */
const chunkBytes = 45_000;
const chunksPerResult = 16;
export const resultBytesMax = chunksPerResult * chunkBytes;

/**
 * Reads a text of any length, by one statement if it fits into a result.
 * @param select gives one row or none, with a column `text`
 * @param columns the other columns to read, each after a comma
 */
export async function readText(select: Sql, columns: Sql, deadline: number) {
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

/**
 * The length of the text, the index of the chunk, the chunk, and the other columns: a row with the whole text if it fits
 * into one, otherwise a row for each chunk in Base64.
 */
const selectChunks = (select: Sql, columns: Sql, lastIndex: Sql): Sql => sql`
  select
    octet_length(text), chunk,
    case when bytes is null then text else encode(substring(bytes from 1 + ${size} * chunk for ${size}), 'base64') end
    ${columns}
  from
    (
      select *, case when octet_length(text) > ${rowBytesMax} then convert_to(text, 'UTF8') end as bytes
      from (${select}) as result
      offset 0
    ) as result
    left join lateral generate_series(0, ${lastIndex}) as chunk on bytes is not null
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
  if (integerOrNull(first, 1) === null) return { text: textOrNull(first, 2), row };
  const chunks = rows.toSorted((one, other) => integer(one, 1) - integer(other, 1));
  return { text: Buffer.concat(chunks.map((each) => Buffer.from(text(each, 2), "base64"))).toString(), row };
}
