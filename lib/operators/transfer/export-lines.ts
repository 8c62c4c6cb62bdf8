import sql from "sql-template-tag";
import { readTextWithin } from "../../data-api/chunks.ts";
import { integer, integerOrNull } from "../../data-api/client.ts";
import type { Send } from "../../data-api/transaction.ts";
import { countSkipped, lines } from "../../queries/catalogue.ts";
import { refusal } from "../refusal.ts";
import { kinds } from "./catalogue-lines.ts";

/** What has been read of an export. */
export interface Progress {
  /** By their kinds. */
  readonly lines: Record<string, number>;
  /** References to another client's records. */
  skipped: number;
  bytes: number;
}

export const noProgress = (): Progress => ({ lines: {}, skipped: 0, bytes: 0 });

/**
 * Reads the catalogue, or a client's part of it, as the lines of a file, as it is when the first statement runs. The
 * transaction must be new.
 * @param readUntil a time of `performance.now()`
 * @throws when that comes before the end
 */
export async function* readLines(
  send: Send,
  client: number | undefined,
  progress: Progress,
  readUntil: number,
): AsyncGenerator<Buffer, void, void> {
  await send(sql`set transaction isolation level repeatable read, read only`);
  // Between statements it waits for uploads, for longer than functions usually do (lib/migrations/roles.sql).
  await send(sql`select set_config('idle_in_transaction_session_timeout', '170s', true)`);
  for (const [kind, table] of Object.entries(kinds)) {
    let count = 0;
    for (let after: number | null = 0; after !== null; ) {
      if (performance.now() > readUntil) throw refusal(tooLong(progress));
      const found = await readTextWithin(send, lines(kind, table, client, after), sql`, count, next_id`);
      if (found === undefined) throw new TypeError("A page of lines has no row");
      const { text, row } = found;
      const bytes = Buffer.from(text?.replace(/[\u0085\u2028\u2029]/g, escaped) ?? "");
      count += integer(row, 0);
      progress.lines[kind] = count;
      progress.bytes += bytes.length;
      after = integerOrNull(row, 1);
      if (bytes.length > 0) yield bytes;
    }
    if (kind === "client" && client !== undefined && count === 0) throw refusal(`There is no client ${client}`);
  }
  if (client === undefined) return;
  const [row = []] = await send(countSkipped(client, kinds));
  progress.skipped = integer(row, 0);
}

/** Other programs take these characters for line breaks. Of JSON only strings have them. */
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

const tooLong = ({ lines, bytes }: Progress): string =>
  `The export takes longer than a function may run, so nothing was written. Export one client at a time. Until then it read ${JSON.stringify(lines)}, ${bytes} bytes`;
