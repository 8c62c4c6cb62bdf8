import { unsupportedResult } from "./errors.ts";
import type { Outcome } from "./query.ts";
import type { ResultType } from "./types.ts";

/** @throws {ServiceError} when the result or a row is too large */
export function checkSize({ exceeded }: Outcome): void {
  if (exceeded === "result") throw unsupportedResult("The result exceeds the size limit 1 MB.");
  // AWS, RDS Data API troubleshooting page; the exception that carries it is not documented.
  if (exceeded === "row") throw unsupportedResult("Packet for query is too large");
}

/** The member `records` as JSON text. It is built as a string, because that is faster. */
export function writeRecords(rows: Outcome["rows"], types: readonly ResultType[]): string {
  const fields = types.map(fieldWriter);
  const write = (text: string | null, index: number) => (text === null ? nullField : fields[index]?.(text));
  return `[${rows.map((row) => `[${row.map(write).join()}]`).join()}]`;
}

const nullField = '{"isNull":true}';

function fieldWriter({ member, json }: ResultType): (text: string) => string {
  const prefix = `{"${member}":`;
  return (text) => `${prefix}${json(text)}}`;
}
