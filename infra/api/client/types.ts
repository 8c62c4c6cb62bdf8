import type { JsonSchema } from "../openapi/schemas.ts";

/** What is read of a JSON Schema. */
export interface Schema extends JsonSchema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly pattern?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly default?: unknown;
}

/** Components that are no records, with their types. An id in a body may be a number or its digits; we say numbers. */
export const plainTypes: Readonly<Record<string, string>> = {
  RecordId: "number",
  Name: "string",
  PossibleName: "string",
};

/** The TypeScript type of a value with this JSON Schema. */
export function typeOf(schema: Schema): string {
  const { $ref = "", const: value, enum: values, anyOf, type, pattern = "", items = {}, properties, required } = schema;
  const name = $ref.slice($ref.lastIndexOf("/") + 1);
  const [, words] = /^\^\(([\w|]+)\)\(,\(\1\)\)\*\$$/.exec(pattern) ?? [];
  if (name) return plainTypes[name] ?? name;
  if (value !== undefined) return JSON.stringify(value);
  if (values) return union(values.map((each) => JSON.stringify(each)));
  if (words) return union(selectionsOf(words.split("|")).map((each) => JSON.stringify(each.join(","))));
  if (anyOf) return union(anyOf.map(typeOf));
  if (typeof type === "object") return union(type);
  if (type === "object") return `{ ${fieldsOf(properties, required)} }`;
  if (type === "array") return items.anyOf || items.enum ? `(${typeOf(items)})[]` : `${typeOf(items)}[]`;
  return type === "integer" ? "number" : (type ?? "unknown");
}

/** All selections of these words, in their order. */
function selectionsOf([word, ...others]: readonly string[]): string[][] {
  if (word === undefined) return [];
  const selections = selectionsOf(others);
  return [[word], ...selections, ...selections.map((each) => [word, ...each])];
}

function union(types: readonly string[]): string {
  const all = [...new Set(types)];
  return all.filter((each) => !(each.startsWith('"') && all.includes("string"))).join(" | ");
}

/** The fields of an interface, with their docstrings. */
export const fieldsOf = (fields: Readonly<Record<string, Schema>> = {}, required: readonly string[] = []): string =>
  Object.entries(fields)
    .map(([name, schema]) => {
      const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
      return `${docstring(meaningOf(schema))}${key}${required.includes(name) ? "" : "?"}: ${typeOf(schema)};`;
    })
    .join(" ");

/** What its description says, and what it is by default; lists are empty, and numbers without a bound. */
function meaningOf({ description = "", default: value }: Schema): string {
  const isTold = value === null || (typeof value !== "object" && typeof value !== "number" && value !== undefined);
  const text = description.replace(/^Beyond the interface: (.)/, (_, first: string) => first.toUpperCase());
  return isTold && value !== "" ? `${text} By default \`${value}\`.`.trim() : text;
}

/** An interface that the client exports. */
export const declared = (name: string, meaning: string, fields: string, base = ""): string =>
  `${docstring(meaning)}export interface ${name} ${base && `extends ${base} `}{ ${fields} }\n`;

const width = 112;

/** A JSDoc comment, broken into lines; nothing for no text. */
export function docstring(text: string): string {
  if (text === "") return "";
  const lines = text.split("\n").flatMap(wrapped);
  return `\n/** ${lines.length === 1 ? lines[0] : `\n${lines.map((each) => ` * ${each}`).join("\n")}\n`} */\n`;
}

const wrapped = (text: string): string[] =>
  text.split(" ").reduce<string[]>(
    ([...lines], word) => {
      const line = lines.pop() ?? "";
      if (line === "") return [...lines, word];
      return line.length + word.length < width ? [...lines, `${line} ${word}`] : [...lines, line, word];
    },
    [""],
  );
