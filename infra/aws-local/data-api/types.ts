import type { Client } from "pg";
import { parseArray } from "./drivers/arrays.ts";
import { internalFailure } from "./errors.ts";
import type { Column } from "./query.ts";

type Member = "longValue" | "doubleValue" | "booleanValue" | "stringValue" | "blobValue" | "arrayValue";

/** How values of a PostgreSQL type are written into a result. */
export interface ResultType {
  /** PostgreSQL's own name, such as `int4` or `_int4`. */
  name: string;
  /** java.sql.Types, which the service reports in columnMetadata. */
  jdbc: number;
  /** Undefined for types that the service does not support in results. It may depend on the value. */
  member: Member | ((text: string) => Member) | undefined;
  /** The value as JSON text. */
  json: (text: string) => string;
  element?: ResultType;
}

export type Types = ReadonlyMap<number, ResultType>;

const quote = (text: string) => JSON.stringify(text);
const asIs = (text: string) => text;
const truth = (text: string) => (text === "t" ? "true" : "false");
const base64 = (text: string) => quote(Buffer.from(text.slice(2), "hex").toString("base64"));

/** JSON has no numbers for NaN and the infinities: the service answers 500. */
function double(text: string): string {
  const number = Number(text);
  if (!Number.isFinite(number)) throw internalFailure();
  return String(number);
}

/** The service writes jsonb without the blank that PostgreSQL puts behind each comma and colon. */
const compact = (text: string) => quote(text.replace(/("(?:[^"\\]|\\.)*")|([,:]) /g, "$1$2"));

/** A float4 arrives as the double nearest to it: 0.1 as 0.10000000149011612. */
const widened = (text: string) => double(String(Math.fround(Number(text))));

/** For `infinity` and `-infinity` the service answers 500. */
function date(text: string): string {
  if (text.endsWith("infinity")) throw internalFailure();
  return quote(text);
}

/**
 * A fraction has three digits if they are enough, otherwise six, and is left out if it is zero. PostgreSQL has already
 * removed trailing zeros.
 */
const time = (text: string) => quote(withFraction(text));

const timestamp = (text: string) => (text.endsWith("infinity") ? date(text) : time(text));

function withFraction(text: string): string {
  const [seconds, fraction] = text.split(".");
  return fraction ? `${seconds}.${fraction.padEnd(fraction.length > 3 ? 6 : 3, "0")}` : text;
}

/** In UTC and without an offset, whatever the session's time zone. */
function timestamptz(text: string): string {
  if (text.endsWith("+00")) return timestamp(text.slice(0, -3));
  const parts = /^(\d+)-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(\.\d+)?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$/.exec(text);
  if (!parts) return date(text);
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(Number);
  const [offsetHours = 0, offsetMinutes = 0, offsetSeconds = 0] = parts.slice(9).map((part) => Number(part ?? 0));
  const offset = (offsetHours * 3600 + offsetMinutes * 60 + offsetSeconds) * (parts[8] === "-" ? -1 : 1);
  const utc = new Date(0);
  utc.setUTCFullYear(year, month - 1, day);
  utc.setUTCHours(hour, minute, second - offset);
  return time(utc.toISOString().slice(0, 19).replace("T", " ") + (parts[7] ?? ""));
}

const scalars: [oid: number, name: string, member: ResultType["member"], jdbc: number, json: ResultType["json"]][] = [
  [16, "bool", "booleanValue", -7, truth],
  [17, "bytea", "blobValue", -2, base64],
  [19, "name", "stringValue", 12, quote],
  [20, "int8", "longValue", -5, asIs],
  [21, "int2", "longValue", 5, asIs],
  [23, "int4", "longValue", 4, asIs],
  [25, "text", "stringValue", 12, quote],
  [26, "oid", "longValue", -5, asIs],
  [114, "json", "stringValue", 1111, quote],
  [650, "cidr", "stringValue", 1111, quote],
  [700, "float4", "doubleValue", 7, widened],
  [701, "float8", "doubleValue", 8, double],
  [869, "inet", "stringValue", 1111, quote],
  [1042, "bpchar", "stringValue", 1, quote],
  [1043, "varchar", "stringValue", 12, quote],
  [1082, "date", "stringValue", 91, date],
  [1083, "time", "stringValue", 92, time],
  [1114, "timestamp", "stringValue", 93, timestamp],
  [1184, "timestamptz", "stringValue", 93, timestamptz],
  [1700, "numeric", "stringValue", 2, quote],
  [2950, "uuid", "stringValue", 1111, quote],
  [2278, "void", "stringValue", 1111, quote],
  [3802, "jsonb", "stringValue", 1111, compact],
  [3904, "int4range", "stringValue", 1111, quote],
  [3906, "numrange", "stringValue", 1111, quote],
];

/** Element type by array type; bytea, cidr, inet and oid have no array in AWS's list of supported types. */
const arrays: [array: number, element: number][] = [
  [199, 114],
  [1000, 16],
  [1003, 19],
  [1005, 21],
  [1007, 23],
  [1009, 25],
  [1014, 1042],
  [1015, 1043],
  [1016, 20],
  [1021, 700],
  [1022, 701],
  [1115, 1114],
  [1182, 1082],
  [1183, 1083],
  [1185, 1184],
  [1231, 1700],
  [2951, 2950],
  [3807, 3802],
];

/** The types every PostgreSQL has under the same numbers (AWS, RDS Data API operations: supported data types). */
export const builtinTypes = new Map<number, ResultType>(
  scalars.map(([oid, name, member, jdbc, json]) => [oid, { name, member, jdbc, json }]),
);
for (const [oid, elementOid] of arrays) {
  const element = builtinTypes.get(elementOid);
  // The elements of real[] are not widened.
  if (element) builtinTypes.set(oid, arrayOf(element.json === widened ? { ...element, json: double } : element));
}

export function arrayOf(element: ResultType): ResultType {
  const write = (text: string | null) => (text === null ? "null" : element.json(text));
  const json = (text: string) => `[${parseArray(text).map(write).join()}]`;
  return { name: `_${element.name}`, member: "arrayValue", jdbc: 2003, json, element };
}

/**
 * Looks up types that a database defines, such as enums and pgvector's, in the session that has used them, because a
 * transaction may have created them.
 */
export async function ownTypesOf(client: Client, columns: Column[]): Promise<Types> {
  const oids = columns.map((column) => column.dataTypeID).filter((oid) => !builtinTypes.has(oid));
  if (oids.length === 0) return noTypes;
  const { rows } = await client.query<{ oid: number; name: string; kind: string; element: string | null }>(
    `select t.oid::int8::int4 as oid, t.typname as name, t.typtype as kind, e.typname as element
     from pg_catalog.pg_type t
       left join pg_catalog.pg_type e on e.typarray = t.oid
     where t.oid = any($1::oid[])`,
    [oids],
  );
  return new Map(
    rows.map(({ oid, name, kind, element }) => {
      const returned = kind === "e" || name === "vector";
      const shown = element === null ? displayName(name) : `${displayName(element)}[]`;
      const jdbc = kind === "e" ? 12 : 1111;
      return [oid, { name: returned ? name : shown, member: returned ? "stringValue" : undefined, jdbc, json: quote }];
    }),
  );
}

const noTypes: Types = new Map();

/** The service writes the names of these types in capitals, `"CHAR"` with quotes, and all others as PostgreSQL does. */
const namedInCapitals = new Set(
  `bit bool box bytea cidr circle daterange inet int4range int8range interval jsonpath line lseg macaddr macaddr8 money
   numrange oid path point polygon record timetz tsrange tstzrange varbit`.split(/\s+/),
);

function displayName(name: string): string {
  if (name === "char") return '"CHAR"';
  return namedInCapitals.has(name) ? name.toUpperCase() : name;
}
