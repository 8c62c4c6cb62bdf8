import wrapAnsi from "wrap-ansi";
import type { JsonSchema } from "../openapi/schemas.ts";

/** The keywords of JSON Schema that say something about a type. */
export interface Schema extends JsonSchema {
  readonly $ref?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  /** The type, where TypeScript knows better. */
  readonly tsType?: string;
}

/** Components that TypeScript cannot tell from any string. */
export const isPlain = (name: string): boolean => ["Name", "PossibleName"].includes(name);

/** The TypeScript type of a value with this JSON Schema. */
export function typeOf(schema: Schema): string {
  const { tsType, $ref, enum: values, anyOf, type, items = {} } = schema;
  const name = $ref?.split("/").at(-1);
  if (tsType) return tsType;
  if (name) return isPlain(name) ? "string" : name;
  if (values) return values.map((each) => JSON.stringify(each)).join(" | ");
  if (anyOf) return anyOf.map(typeOf).join(" | ");
  if (typeof type === "object") return type.join(" | ");
  if (type === "object") return `{ ${fieldsOf(schema)} }`;
  if (type === "array") return items.enum ? `(${typeOf(items)})[]` : `${typeOf(items)}[]`;
  return type === "integer" ? "number" : (type ?? "unknown");
}

/** The fields of an object, all or some, with their docstrings. */
export const fieldsOf = ({ properties = {}, required = [] }: Schema, isIn = (_: string) => true): string =>
  Object.entries(properties)
    .filter(([name]) => isIn(name))
    .map(([name, schema]) => {
      const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
      return `${docstring(meaningOf(schema))}${key}${required.includes(name) ? "" : "?"}: ${typeOf(schema)};`;
    })
    .join(" ");

/** What its description says, and what it is by default; lists are empty, and numbers without a bound. */
function meaningOf({ description = "", default: value }: Schema): string {
  const text = description.replace(/^Beyond the interface: (.)/, (_, first: string) => first.toUpperCase());
  return value === null || value === false || (typeof value === "string" && value !== "")
    ? `${text} By default \`${value}\`.`.trim()
    : text;
}

/** An interface that the client exports. */
export const declared = (head: string, meaning: string, ...fields: readonly string[]): string =>
  `${docstring(meaning)}export interface ${head} { ${fields.join("\n")} }\n`;

const width = 112;

/** A JSDoc comment; nothing for no text. */
export function docstring(text: string): string {
  if (text === "") return "";
  const lines = wrapAnsi(text, width).split("\n");
  return `\n/** ${lines.length === 1 ? text : `\n${lines.map((each) => ` * ${each}`).join("\n")}\n`} */\n`;
}
