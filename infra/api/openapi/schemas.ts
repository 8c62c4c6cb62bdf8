import * as z from "zod/mini";
import { characters, joinersInPlace } from "../../../lib/contract/names.ts";
import {
  bodyId,
  image,
  name,
  nameLengthMax,
  nameOrEmpty,
  pathId,
  pathInteger,
  unfitForText,
} from "../../../lib/contract/parameters.ts";
import * as responses from "../../../lib/contract/responses.ts";

/** JSON Schema 2020-12, as OpenAPI 3.1 uses it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The JSON Schemas of all answers, by name. */
export function answerSchemas(): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(responses).map(([name, schema]) => [name, plain(z.toJSONSchema(schema, { override: simplify }))]),
  );
}

/** The schema of a path or query parameter. Numbers have the type `integer`, although they are sent as text. */
export function parameterSchema(schema: z.ZodMiniType): JsonSchema {
  return inputSchema(schema, (context) => {
    restrictText(context, "\\u0000");
    const { zodSchema, jsonSchema } = context;
    if (zodSchema === pathInteger || zodSchema === pathId) return replace(jsonSchema, { type: "integer" });
    if (!isNumeric(zodSchema)) return;
    replace(jsonSchema, plain(z.toJSONSchema(zodSchema, { io: "output", override: simplify })));
  });
}

/** The schema of a field of a JSON body. */
export function fieldSchema(schema: z.ZodMiniType): JsonSchema {
  return inputSchema(schema, (context) => {
    restrictText(context, unfit);
    if (context.zodSchema === bodyId) replace(context.jsonSchema, { $ref: "#/components/schemas/RecordId" });
    if (context.zodSchema === image) context.jsonSchema.pattern = base64;
    if (context.zodSchema === name) replace(context.jsonSchema, { $ref: "#/components/schemas/Name" });
    if (context.zodSchema === nameOrEmpty) replace(context.jsonSchema, { $ref: "#/components/schemas/PossibleName" });
  });
}

/** The digits of a positive safe integer, except those with sixteen digits that begin with 9. */
const positiveDigits = "^(?!0+$)([0-9]{1,15}|[0-8][0-9]{15})$";

/** An identifier in a JSON body, which many fields refer to. */
export const recordId = {
  description: "The id of a record, as a number or its digits.",
  anyOf: [
    { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    { type: "string", pattern: positiveDigits },
  ],
} satisfies JsonSchema;

const space = "[\\t\\n\\f\\r ]*";
/**
 * Base64, with or without line breaks, with or without the prefix of a data URL. The pattern does not check that the
 * number of characters is valid: regex engines fail on patterns that count millions of characters.
 */
export const base64 =
  `^${space}([Dd][Aa][Tt][Aa]:[^,]{0,150};[Bb][Aa][Ss][Ee]64,)?${space}` +
  `[A-Za-z0-9+/_-][A-Za-z0-9+/_\\t\\n\\f\\r -]*(=${space}){0,2}$`;

/**
 * The characters that an expression matches, as ranges. Few tools that generate text from a pattern support `\p{…}`.
 */
function rangesOf(expression: RegExp): string {
  const points = Array.from({ length: 0x110000 }, (_, point) => point).filter((point) =>
    expression.test(String.fromCodePoint(point)),
  );
  const starts = points.filter((point, index) => points[index - 1] !== point - 1);
  const ends = points.filter((point, index) => points[index + 1] !== point + 1);
  return starts.map((start, index) => `${characterOf(start)}-${characterOf(ends[index] ?? start)}`).join("");
}

/** Regex engines have a common escape only up to U+FFFF; other characters are written unescaped. */
const characterOf = (point: number) =>
  point > 0xffff ? String.fromCodePoint(point) : `\\u${point.toString(16).padStart(4, "0")}`;

const whitespace = "[\\s\\ufeff]*";
export const unfit = rangesOf(unfitForText);
const unseen = rangesOf(characters.unseen);
const joiners = joinersInPlace((each) => `[${rangesOf(each)}]`);
const visibleName = `^${whitespace}[^\\s${unseen}]([^${unseen}]|${joiners})*${whitespace}$`;

/** Names, which many fields refer to. */
export const nameSchemas = {
  Name: {
    description:
      "At least one visible character; no control or invisible characters except joiners where a script or an emoji needs them.",
    type: "string",
    minLength: 1,
    maxLength: nameLengthMax,
    pattern: visibleName,
  },
  PossibleName: {
    description: "The same, or nothing to be seen at all, which is no name.",
    type: "string",
    maxLength: nameLengthMax,
    pattern: `${visibleName}|^[\\s${unseen}]*$`,
  },
} satisfies Record<string, JsonSchema>;

/** Whether a parameter may be left out. */
export const isOptional = (schema: z.ZodMiniType): boolean => z.safeParse(schema, undefined).success;

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>["override"]>;
type Context = Parameters<Override>[0];

/** The schema of what is sent. */
export function inputSchema(schema: z.ZodMiniType, override: Override): JsonSchema {
  const json = plain(z.toJSONSchema(schema, { io: "input", unrepresentable: "any", override }));
  const absent: unknown = z.safeParse(schema, undefined).data;
  return absent === undefined ? json : { ...json, default: absent };
}

/** Digits that are read as a number. */
function isNumeric(schema: z.core.$ZodType): boolean {
  if (!(schema instanceof z.ZodMiniPipe)) return false;
  return z.safeParse(schema, "1").data === 1 && !z.safeParse(schema, "x").success;
}

/**
 * Adds the pattern for text that is checked: nothing of these characters; and if it is trimmed, at least one character
 * that is not space.
 */
export function restrictText({ zodSchema, jsonSchema }: Context, excluded: string): void {
  simplify({ zodSchema, jsonSchema });
  if (!(zodSchema instanceof z.ZodMiniString)) return;
  const checks = (zodSchema._zod.def.checks ?? []).map((check) => check._zod.def.check);
  if (!checks.includes("custom")) return;
  const isTrimmed = checks.includes("overwrite") && jsonSchema.minLength !== undefined;
  jsonSchema.pattern = isTrimmed ? `^[^${excluded}]*[^\\s\\ufeff${excluded}][^${excluded}]*$` : `^[^${excluded}]*$`;
}

/** Writes positive integers as `minimum: 1`, and leaves out the pattern where there is a format. */
function simplify({ jsonSchema }: Pick<Context, "zodSchema" | "jsonSchema">): void {
  if (jsonSchema.exclusiveMinimum === 0) {
    delete jsonSchema.exclusiveMinimum;
    jsonSchema.minimum = 1;
  }
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
}

/** Makes a schema in place another one. */
export function replace(target: Record<string, unknown>, content: JsonSchema): void {
  for (const key of Object.keys(target)) delete target[key];
  Object.assign(target, content);
}

const plain = ({ $schema: _, "~standard": __, ...schema }: Record<string, unknown>): JsonSchema => schema;
