import { isUtf8 } from "node:buffer";
import { type CatalogueLine, parseLine, type Refusal } from "./catalogue-lines.ts";

/** A line of a file: what it says, or why it is refused. */
export interface FileLine {
  readonly number: number;
  /** Where it begins and ends, with its line break, in bytes. */
  readonly start: number;
  readonly end: number;
  readonly content: CatalogueLine | Refusal;
}

export const isRefusal = (content: CatalogueLine | Refusal): content is Refusal => "reason" in content;

/** The longest contributor, each letter of whose descriptions is escaped as \uXXXX. */
const lineBytesMax = 6 * 1_048_576;
/** The Data API takes 4 MiB of JSON, in which the lines are text ("Limits"). */
const sentBytesMax = 4_000_000;
/** Even if everything is escaped, shorter lines are sent. */
const surelySentBytes = sentBytesMax / 4;
const newline = 0x0a;

/** The byte at which a line begins, and how many lines there are before. */
export interface Start {
  readonly position: number;
  readonly lines: number;
}

/** A line break ends a line; the last line may do without. */
export async function* linesIn(pieces: AsyncIterable<Buffer>, start: Start): AsyncGenerator<FileLine> {
  let { position, lines } = start;
  /** How far the file is read. */
  let read = position;
  let rest: Buffer = Buffer.alloc(0);
  const lineUntil = (end: number, bytes: Buffer, breakBytes: number): FileLine => {
    const length = end - breakBytes - position;
    const content = length > lineBytesMax ? tooLong : contentOf(bytes);
    const line = { number: ++lines, start: position, end, content };
    position = end;
    return line;
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, from)) {
      yield lineUntil(read + at + 1, Buffer.concat([rest, piece.subarray(from, at)]), 1);
      rest = Buffer.alloc(0);
      from = at + 1;
    }
    read += piece.length;
    // Of a line that is too long no more is stored.
    rest = read - position > lineBytesMax ? Buffer.alloc(0) : Buffer.concat([rest, piece.subarray(from)]);
  }
  if (read > position) yield lineUntil(read, rest, 0);
}

const refused = (reason: string): Refusal => ({ field: null, reason: `expected ${reason}` });
const tooLong = refused(`at most ${lineBytesMax} bytes`);
const tooLongToSend = refused(`at most ${sentBytesMax} bytes as a text in JSON, where each quote is escaped twice`);

function contentOf(bytes: Buffer): CatalogueLine | Refusal {
  if (!isUtf8(bytes)) return refused("UTF-8");
  const text = bytes.toString();
  if (text.endsWith("\r")) return refused("lines that end with LF, not with CR LF");
  if (text.trim() === "") return refused("a JSON object, not an empty line");
  const content = parseLine(text);
  return bytes.length > surelySentBytes && sentBytesOf(content) > sentBytesMax ? tooLongToSend : content;
}

const sentBytesOf = (content: object): number => Buffer.byteLength(JSON.stringify(JSON.stringify(content)));

/** Lines that are done at once. */
export interface Batch {
  readonly lines: readonly FileLine[];
  /** Whether they are the last ones of the file. */
  readonly isLast: boolean;
}

/** Who edits a contributor of a batch waits until it is done. */
const batchLines = 125;
const batchBytes = 512 * 1024;

/**
 * The lines in batches; of an empty file one that is empty. A record has one line in each: with several the database
 * would write parts of the batch again, while edits of all its records wait.
 */
export async function* batchesOf(lines: AsyncIterable<FileLine>): AsyncGenerator<Batch> {
  let batch: FileLine[] = [];
  let bytes = 0;
  const records = new Set<string>();
  for await (const line of lines) {
    const length = isRefusal(line.content) ? 0 : line.end - line.start;
    const record = recordOf(line.content);
    if (batch.length === batchLines || (batch.length > 0 && bytes + length > batchBytes) || records.has(record)) {
      yield { lines: batch, isLast: false };
      batch = [];
      bytes = 0;
      records.clear();
    }
    batch.push(line);
    bytes += length;
    if (record !== "") records.add(record);
  }
  yield { lines: batch, isLast: true };
}

/** The record that a line is about; empty if it is refused, or about a relation. */
function recordOf(content: CatalogueLine | Refusal): string {
  if (isRefusal(content) || "to" in content) return "";
  return `${content.kind} ${content.kind === "client" ? content.id : content.externalId}`;
}
