import { validation } from "../http/service-error.ts";
import { databaseError } from "./errors.ts";
import { findColons } from "./lexer.ts";
import type { SqlParameter } from "./requests.ts";

/**
 * A statement for PostgreSQL's extended protocol: a text with `$1`, `$2` and so on, and a type and a value for each.
 */
export interface BoundStatement {
  text: string;
  types: number[];
  values: (string | Buffer | null)[];
  /** The same for the same text and types. Undefined where a parameter has no value. */
  key: string | undefined;
}

interface Template {
  readonly number: number;
  readonly text: string;
  /** The name behind each `$n`, in order. */
  readonly names: readonly string[];
}

const parameterName = /[\p{L}\p{N}_]+/uy;
const validName = /^[A-Za-z0-9_]+$/;

const typeOids = { text: 25, int8: 20, float8: 701, bool: 16, bytea: 17, unspecified: 0 };

/** A cache: functions send the same few statements again and again. */
const templates = new Map<string, Template>();
const templatesMax = 1000;
let templatesMade = 0;

/**
 * Replaces the named parameters of a statement and binds their values. As on the service, each occurrence of a name
 * gets another `$n`. So PostgreSQL does not see that `date_trunc(:unit, at)` in `group by` is the same as in the select
 * list.
 *
 * A name without a value is replaced, too. PostgreSQL then returns 08P01: the bind message supplies too few parameters.
 */
export function bind(sql: string, parameters: readonly SqlParameter[]): BoundStatement {
  const { number, text, names } = templateOf(sql);
  const bound = new Map(parameters.map((parameter) => [parameter.name, bindParameter(parameter)]));
  const types: number[] = [];
  const values: BoundStatement["values"] = [];
  for (const [index, name] of names.entries()) {
    const found = bound.get(name);
    if (!found) continue;
    while (types.length < index) types.push(typeOids.unspecified);
    types.push(found.type);
    values.push(found.value);
  }
  return { text, types, values, key: values.length === names.length ? `${number} ${types}` : undefined };
}

function templateOf(sql: string): Template {
  const known = templates.get(sql);
  if (known) return known;
  // PostgreSQL's protocol uses NUL as the end of a text.
  if (sql.includes("\0"))
    throw databaseError('ERROR: invalid byte sequence for encoding "UTF8": 0x00; SQLState: 22021');
  if (templates.size >= templatesMax) templates.clear();
  const template = { number: ++templatesMade, ...parse(sql) };
  templates.set(sql, template);
  return template;
}

/**
 * Reproduces two defects of the service's scanner, seen on Aurora PostgreSQL 17.9: it replaces names in dollar-quoted
 * texts (`$$a :b c$$` becomes `a $1 c`), and treats the upper bound of an array slice as a name (`a[1:2]`).
 */
function parse(sql: string): Pick<Template, "text" | "names"> {
  const names: string[] = [];
  let text = "";
  let copied = 0;
  findColons(sql, (at) => {
    if (sql[at + 1] === ":") return at + 2;
    parameterName.lastIndex = at + 1;
    const name = parameterName.exec(sql)?.[0];
    if (name === undefined) return at + 1;
    if (!validName.test(name)) throw validation("Named parameter syntax is invalid");
    names.push(name);
    text += `${sql.slice(copied, at)}$${names.length}`;
    copied = at + 1 + name.length;
    return copied;
  });
  return { text: text + sql.slice(copied), names };
}

function bindParameter({ name, value }: SqlParameter): { type: number; value: string | Buffer | null } {
  if (!validName.test(name)) throw validation("Named parameter syntax is invalid");
  if (value.isNull) return { type: typeOids.unspecified, value: null };
  if (value.stringValue !== undefined) return { type: typeOids.text, value: value.stringValue };
  // Always bigint: `int4_column << :n` fails on the service and must fail here.
  if (value.longValue !== undefined) return { type: typeOids.int8, value: BigInt(value.longValue).toString() };
  if (value.doubleValue !== undefined) return { type: typeOids.float8, value: String(value.doubleValue) };
  if (value.booleanValue !== undefined) return { type: typeOids.bool, value: String(value.booleanValue) };
  if (value.blobValue !== undefined) return { type: typeOids.bytea, value: Buffer.from(value.blobValue, "base64") };
  if (value.arrayValue !== undefined) throw validation("Array parameters are not supported");
  throw validation(`The value of the parameter ${name} is missing`);
}
