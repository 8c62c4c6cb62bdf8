import { unsupportedResult } from "./errors.ts";
import type { Column, Outcome } from "./query.ts";
import { builtinTypes, type ResultType, type Types } from "./types.ts";

/** @throws {ServiceError} when the result or a row is too large */
export function checkSize({ exceeded }: Outcome): void {
  if (exceeded === "result") throw unsupportedResult("The result exceeds the size limit 1 MB.");
  // AWS, RDS Data API troubleshooting page; the exception that carries it is not documented.
  if (exceeded === "row") throw unsupportedResult("Packet for query is too large");
}

/** The type of each column. The service checks types when it converts a row, so an empty result may have any type. */
export function typesOf(columns: Column[], rows: Outcome["rows"], own: Types): ResultType[] {
  const types = columns.map(({ dataTypeID }) => builtinTypes.get(dataTypeID) ?? own.get(dataTypeID) ?? unknownType);
  const unsupported = types.find((type) => type.member === undefined);
  if (unsupported && rows.length > 0)
    throw unsupportedResult(`The result contains the unsupported data type ${unsupported.name}.`);
  return types;
}

const unknownType: ResultType = { name: "unknown", jdbc: 1111, member: undefined, json: JSON.stringify };

/** The member `records` as JSON text. It is built as a string, because that is faster. */
export function writeRecords(rows: Outcome["rows"], types: ResultType[]): string {
  const fields = types.map(fieldWriter);
  const write = (text: string | null, index: number) => (text === null ? nullField : fields[index]?.(text));
  return `[${rows.map((row) => `[${row.map(write).join()}]`).join()}]`;
}

const nullField = '{"isNull":true}';

function fieldWriter({ member, json, element }: ResultType): (text: string) => string {
  if (typeof member === "function") return (text) => `{"${member(text)}":${json(text)}}`;
  if (element) return (text) => `{"arrayValue":{"${element.member}s":${json(text)}}}`;
  const prefix = `{"${member}":`;
  return (text) => `${prefix}${json(text)}}`;
}
