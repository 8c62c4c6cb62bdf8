import type { JsonSchema } from "../openapi/schemas.ts";

/** The schemas of one field each; their type says it all, and has no name of its own. */
const plainTypes: Readonly<Record<string, string>> = { RecordId: "number", Name: "string", PossibleName: "string" };

/** The TypeScript type of a value with this JSON Schema, on one line unless a field in it has a description. */
export function typeOf(schema: JsonSchema): string {
  const { $ref, const: value, enum: values, anyOf, type } = schema as Schema;
  if ($ref) return typeNamed($ref.slice($ref.lastIndexOf("/") + 1));
  if (value !== undefined) return JSON.stringify(value);
  if (values) return union(values.map((each) => JSON.stringify(each)));
  if (anyOf) return union(anyOf.map(typeOf));
  if (Array.isArray(type)) return union(type.map((each) => typeOf({ ...schema, type: each })));
  if (type === "object") return `{ ${fieldsOf(schema)} }`;
  if (type === "array") return `Array<${typeOf((schema as Schema).items ?? {})}>`;
  return type === "integer" ? "number" : `${type ?? "unknown"}`;
}

interface Schema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly type?: string | readonly string[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

const typeNamed = (name: string): string => plainTypes[name] ?? name;

/** Whether a schema has no type of its own in the client. */
export const isPlain = (name: string): boolean => name in plainTypes;

function union(types: readonly string[]): string {
  const all = new Set(types);
  return [...all].filter((each) => !(all.has("string") && each.startsWith('"'))).join(" | ");
}

/** The fields of an object, with what their descriptions and defaults say. */
export function fieldsOf(schema: JsonSchema): string {
  const { properties = {}, required = [] } = schema as Schema;
  return Object.entries(properties)
    .map(([name, each]) => field(name, each, required.includes(name)))
    .join(" ");
}

/** A field of an interface, with its docstring. */
export const field = (name: string, schema: JsonSchema, isRequired: boolean): string =>
  `${docstring(meaningOf(schema))}${/^\w+$/.test(name) ? name : JSON.stringify(name)}${isRequired ? "" : "?"}: ${typeOf(schema)};`;

/** The description, and the default where it is one that a reader would not guess. */
function meaningOf({ description = "", default: value }: JsonSchema): string {
  return typeof value === "string" && value !== ""
    ? `${description} By default \`${value}\`.`.trim()
    : `${description}`;
}

const width = 115;

/** A JSDoc comment, broken into lines. */
export function docstring(text: string): string {
  if (text === "") return "";
  const lines = text.split("\n").flatMap(wrapped);
  return lines.length === 1 && text.length < width - 5
    ? `\n/** ${text} */\n`
    : `\n/**\n${lines.map((each) => ` * ${each}`.trimEnd()).join("\n")}\n */\n`;
}

function wrapped(text: string): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line.length + word.length < width - 6) lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
