import * as z from "zod/mini";
import type { Declaration, ResponseName } from "../../../lib/contract/declare.ts";
import * as elements from "../../../lib/contract/elements.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { image, letterText, name, nameOrEmpty, pathId, pathInteger } from "../../../lib/contract/parameters.ts";
import { responseSchema } from "../../../lib/contract/response-schema.ts";
import * as responses from "../../../lib/contract/responses.ts";
import { base64, letterPattern, nameSchemas, unfit } from "./patterns.ts";

/** JSON Schema 2020-12, as OpenAPI 3.1 uses it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const address = (name: string) => `#/components/schemas/${name}`;
export const reference = (name: string) => ({ $ref: address(name) });

/** The name of a list of these records. */
export const listName = (item: ResponseName): string => `${item.replace(/ListItem$/, "")}List`;

const listOf = (declaration: Declaration) =>
  "list" in declaration.response ? [[listName(declaration.response.list), responseSchema(declaration)]] : [];

/** What endpoints respond with, by name: the envelope, records and lists. Later versions may add fields. */
export const responseSchemas = (): Record<string, JsonSchema> =>
  componentsOf({ ...responses, ...Object.fromEntries(endpoints.flatMap(listOf)) }, "output", (context) => {
    simplify(context);
    delete context.jsonSchema.additionalProperties;
  });

/** Bodies by name, and what their fields have in common. */
export function bodySchemas(bodies: Readonly<Record<string, z.ZodMiniType>>): Record<string, JsonSchema> {
  const named = { Name: name, PossibleName: nameOrEmpty, ...elements, ...bodies };
  const schemas = componentsOf(named, "input", (context) => {
    restrictText(context, unfit);
    if (context.zodSchema === image) context.jsonSchema.pattern = base64;
  });
  return { ...JSON.parse(JSON.stringify(schemas), (_, value) => firstForm(value)), ...nameSchemas };
}

/** Of the forms in which a value is accepted (an id or its digits) the first: for more, generators make a class. */
const firstForm = (value: { readonly anyOf?: readonly JsonSchema[] } | null) =>
  value?.anyOf?.every(({ type }) => type !== "null") ? value.anyOf[0] : value;

/** Schemas that refer to each other by name. */
function componentsOf(
  named: Readonly<Record<string, z.core.$ZodType>>,
  io: "input" | "output",
  override: Override,
): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { io, unrepresentable: "any", override, uri: address });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, plain(schema)]));
}

/** The schema of what a value is read as. */
export const outputSchema = (schema: z.ZodMiniType): JsonSchema =>
  plain(z.toJSONSchema(schema, { unrepresentable: "any", override: simplify }));

/** The schema of a path or query parameter. Numbers have the type `integer`, although they are sent as text. */
export function parameterSchema(schema: z.ZodMiniType): JsonSchema {
  const output = outputSchema(schema);
  if (output.type === "integer") return output;
  if (output.type === "array") return { type: "string", pattern: wordsOf(output) };
  return inputSchema(schema, (context) => {
    restrictText(context, "\\u0000");
    if (context.zodSchema === letterText) context.jsonSchema.pattern = letterPattern;
    const isId = context.zodSchema === pathInteger || context.zodSchema === pathId;
    if (isId) replace(context.jsonSchema, { type: "integer", format: "int64" });
  });
}

/** The pattern of words with commas between them. */
function wordsOf({ items }: JsonSchema): string {
  const word = `(${Object(items).enum.join("|")})`;
  return `^${word}(,${word})*$`;
}

/** Whether a parameter may be left out. */
export const isOptional = (schema: z.ZodMiniType): boolean => z.safeParse(schema, undefined).success;

/** The default of a parameter that may be left out, if there is one. */
export function defaultOf(schema: z.ZodMiniType): { readonly default?: unknown } {
  const absent: unknown = z.safeParse(schema, undefined).data;
  return absent === undefined ? {} : { default: absent };
}

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>["override"]>;
type Context = Parameters<Override>[0];

/** The schema of what is sent. */
export const inputSchema = (schema: z.ZodMiniType, override: Override): JsonSchema => ({
  ...plain(z.toJSONSchema(schema, { io: "input", unrepresentable: "any", override })),
  ...defaultOf(schema),
});

/**
 * Adds the pattern for text that is checked: nothing of these characters; and if it is trimmed, at least one character
 * that is not space.
 */
export function restrictText({ zodSchema, jsonSchema, path }: Context, excluded: string): void {
  simplify({ zodSchema, jsonSchema, path });
  if (!(zodSchema instanceof z.ZodMiniString)) return;
  const checks = (zodSchema._zod.def.checks ?? []).map((check) => check._zod.def.check);
  if (!checks.includes("custom")) return;
  const isTrimmed = checks.includes("overwrite") && jsonSchema.minLength !== undefined;
  jsonSchema.pattern = isTrimmed ? `^[^${excluded}]*[^\\s\\ufeff${excluded}][^${excluded}]*$` : `^[^${excluded}]*$`;
}

/**
 * What generators for other languages understand: positive integers with `minimum: 1`, large ones of 64 bits, no pattern
 * beside a format, and a text that may be of several kinds as any text.
 */
function simplify({ jsonSchema }: Context): void {
  if (jsonSchema.type === "integer" && jsonSchema.exclusiveMinimum === 0) {
    delete jsonSchema.exclusiveMinimum;
    jsonSchema.minimum = 1;
  }
  if (jsonSchema.enum?.every(Number.isInteger)) jsonSchema.type = "integer";
  if (jsonSchema.type === "integer" && jsonSchema.maximum === Number.MAX_SAFE_INTEGER) jsonSchema.format = "int64";
  if (jsonSchema.type === "string" && jsonSchema.format !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.anyOf?.every(isText)) {
    delete jsonSchema.anyOf;
    jsonSchema.type = "string";
  }
}

/** A part that is referred to twice may not be simplified yet. */
const isText = ({ type, anyOf }: JsonSchema): boolean =>
  type === "string" || (Array.isArray(anyOf) && anyOf.every(isText));

/** Makes a schema in place another one. */
export function replace(target: Record<string, unknown>, content: JsonSchema): void {
  for (const key of Object.keys(target)) delete target[key];
  Object.assign(target, content);
}

const plain = ({ $schema: _, $id: __, "~standard": ___, ...schema }: Record<string, unknown>): JsonSchema => schema;
