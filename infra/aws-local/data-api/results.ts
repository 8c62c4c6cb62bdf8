import { parseArray } from "./arrays.ts";
import { internalFailure, ServiceError, unsupportedResult, validation } from "./errors.ts";
import type { Limits } from "./limits.ts";
import type { Column, Outcome } from "./query.ts";
import type { Request } from "./requests.ts";
import { builtinTypes, type ResultType, type Types } from "./types.ts";

type Options = NonNullable<Request["resultSetOptions"]>;
type Write = (text: string) => string;

/** @throws {ServiceError} when the result or a row is too large */
export function checkSize({ exceeded }: Outcome): void {
  if (exceeded === "result") throw unsupportedResult("The result exceeds the size limit 1 MB.");
  // AWS, RDS Data API troubleshooting page; the exception that carries it is not documented.
  if (exceeded === "row") throw unsupportedResult("Packet for query is too large");
}

/** The type of each column. The service checks types when it converts a row, so an empty result may have any type. */
export function typesOf(columns: Column[], rows: Outcome["rows"], known: Types): ResultType[] {
  const types = columns.map(({ dataTypeID }) => builtinTypes.get(dataTypeID) ?? known.get(dataTypeID) ?? unknownType);
  const unsupported = types.find((type) => type.member === undefined);
  if (unsupported && rows.length > 0)
    throw unsupportedResult(`The result contains the unsupported data type ${unsupported.name}.`);
  return types;
}

const unknownType: ResultType = { name: "unknown", jdbc: 1111, member: undefined, json: JSON.stringify };

/** The member `records` as JSON text. It is built as a string, because that is faster. */
export function writeRecords(rows: Outcome["rows"], types: ResultType[], options: Options): string {
  const fields = types.map((type) => fieldWriter(type, options));
  const write = (text: string | null, index: number) => (text === null ? nullField : fields[index]?.(text));
  return `[${rows.map((row) => `[${row.map(write).join()}]`).join()}]`;
}

const nullField = '{"isNull":true}';

function fieldWriter(type: ResultType, options: Options): Write {
  const write = valueWriter(type, options);
  if (type.element) {
    const prefix = `{"arrayValue":{"${memberOf(type.element, options)}s":`;
    return (text) => `${prefix}${write(text)}}}`;
  }
  if (isConvertedDecimal(type, options))
    return (text) => `{"${text.includes(".") ? "doubleValue" : "longValue"}":${write(text)}}`;
  const prefix = `{"${memberOf(type, options)}":`;
  return (text) => `${prefix}${write(text)}}`;
}

function valueWriter(type: ResultType, options: Options): Write {
  if (type.element) return arrayWriter(valueWriter(type.element, options));
  if (isConvertedDecimal(type, options)) return decimal;
  if (isConvertedLong(type, options)) return JSON.stringify;
  return type.json;
}

function arrayWriter(element: Write): Write {
  const write = (text: string | null) => (text === null ? "null" : element(text));
  return (text) => `[${parseArray(text).map(write).join()}]`;
}

function decimal(text: string): string {
  if (!/\d/.test(text)) throw internalFailure();
  return text.includes(".") ? String(Number(text)) : text;
}

function memberOf(type: ResultType, options: Options): string | undefined {
  if (isConvertedDecimal(type, options)) return "doubleValue";
  return isConvertedLong(type, options) ? "stringValue" : type.member;
}

const isConvertedDecimal = (type: ResultType, options: Options) =>
  type.name === "numeric" && options.decimalReturnType === "DOUBLE_OR_LONG";

const isConvertedLong = (type: ResultType, options: Options) =>
  type.name === "int8" && options.longReturnType === "STRING";

/** The member `formattedRecords`: one string, holding an array of objects keyed by column label. */
export function formatRecords(
  columns: Column[],
  rows: Outcome["rows"],
  types: ResultType[],
  options: Options,
  limits: Limits,
): string {
  const labels = columns.map(({ name }) => JSON.stringify(name));
  if (new Set(labels).size < labels.length) throw validation("The column labels of the result are not unique");
  const values = types.map((type) => valueWriter(type, options));
  const write = (text: string | null, index: number) =>
    `${labels[index]}:${text === null ? "null" : values[index]?.(text)}`;
  const formatted = `[${rows.map((row) => `{${row.map(write).join()}}`).join()}]`;
  // AWS, RDS Data API: processing query results in JSON format.
  if (Buffer.byteLength(formatted) > limits.formattedBytes)
    throw new ServiceError(400, "BadRequestException", "The formatted result exceeds the size limit 10 MB.");
  return formatted;
}
