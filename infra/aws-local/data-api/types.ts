import type { ClientBase, FieldDef } from "pg";
import { internalFailure, unsupportedResult } from "./errors.ts";

type Member = "longValue" | "doubleValue" | "booleanValue" | "stringValue" | "blobValue";

/** Writes a value's text, which PostgreSQL has sent, as JSON text. */
type Write = (text: string) => string;

const quote = (text: string) => JSON.stringify(text);
const asIs = (text: string) => text;
const truth = (text: string) => (text === "t" ? "true" : "false");
const base64 = (text: string) => quote(Buffer.from(text.slice(2), "hex").toString("base64"));

/** JSON has no numbers for NaN and the infinities: the service returns 500. */
function double(text: string): string {
  const number = Number(text);
  if (!Number.isFinite(number)) throw internalFailure();
  return String(number);
}

/** The service writes jsonb without the blank that PostgreSQL puts behind each comma and colon. */
const compact = (text: string) => quote(text.replace(/("(?:[^"\\]|\\.)*")|([,:]) /g, "$1$2"));

/** A float4 arrives as the double nearest to it: 0.1 as 0.10000000149011612. */
const widened = (text: string) => double(String(Math.fround(Number(text))));

/** For `infinity` and `-infinity` the service returns 500. */
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
  const [, clock, fraction = "", offset = ""] = /^([\d-]+ [\d:]+)(\.\d+)?([+-]\d\d(?::\d\d)?)$/.exec(text) ?? [];
  if (clock === undefined) return date(text);
  const utc = new Date(`${clock.replace(" ", "T")}${offset.padEnd(6, ":00")}`).toISOString();
  return time(utc.slice(0, 19).replace("T", " ") + fraction);
}

/** The types every PostgreSQL has under the same numbers (AWS, RDS Data API operations: supported data types). */
const builtin: [member: Member, write: Write, oids: number[]][] = [
  ["booleanValue", truth, [16]],
  ["blobValue", base64, [17]],
  // int8, int2, int4, oid
  ["longValue", asIs, [20, 21, 23, 26]],
  ["doubleValue", widened, [700]],
  ["doubleValue", double, [701]],
  // name, text, json, cidr, inet, char, varchar, numeric, void, uuid, int4range, numrange
  ["stringValue", quote, [19, 25, 114, 650, 869, 1042, 1043, 1700, 2278, 2950, 3904, 3906]],
  ["stringValue", compact, [3802]],
  ["stringValue", date, [1082]],
  ["stringValue", time, [1083]],
  ["stringValue", timestamp, [1114]],
  ["stringValue", timestamptz, [1184]],
];

const fieldWriter =
  (member: Member, write: Write): Write =>
  (text) =>
    `{"${member}":${write(text)}}`;

const builtinWriters = new Map(
  builtin.flatMap(([member, write, oids]) => oids.map((oid) => [oid, fieldWriter(member, write)] as const)),
);
const writeText = fieldWriter("stringValue", quote);

/**
 * What writes the fields of a result's columns.
 * @throws {ServiceError} for a type that the service does not support, and for arrays, which it does support
 */
export async function writersOf(client: ClientBase, columns: readonly FieldDef[]): Promise<Write[]> {
  const others = columns.map(({ dataTypeID }) => dataTypeID).filter((oid) => !builtinWriters.has(oid));
  if (others.length > 0) await expectTexts(client, others);
  return columns.map(({ dataTypeID }) => builtinWriters.get(dataTypeID) ?? writeText);
}

/**
 * Among the types that a database defines, enums and pgvector's are texts in results. They are looked up in the session
 * that has used them, because a transaction may have created them.
 */
async function expectTexts(client: ClientBase, oids: readonly number[]): Promise<void> {
  const { rows } = await client.query<{ name: string; element: string | null }>(
    `select t.typname as name, e.typname as element
     from pg_catalog.pg_type t
       left join pg_catalog.pg_type e on e.typarray = t.oid
     where t.oid = any($1::oid[]) and t.typtype <> 'e' and t.typname <> 'vector'`,
    [oids],
  );
  for (const { name, element } of rows) {
    const shown = element === null ? displayName(name) : `${displayName(element)}[]`;
    throw unsupportedResult(`The result contains the unsupported data type ${shown}.`);
  }
}

/** The service writes the names of these types in capitals, `"CHAR"` with quotes, and all others as PostgreSQL does. */
const namedInCapitals = new Set(
  `bit bool box bytea cidr circle daterange inet int4range int8range interval jsonpath line lseg macaddr macaddr8 money
   numrange oid path point polygon record timetz tsrange tstzrange varbit`.split(/\s+/),
);

function displayName(name: string): string {
  if (name === "char") return '"CHAR"';
  return namedInCapitals.has(name) ? name.toUpperCase() : name;
}
