import fc from "fast-check";
import { imageExample } from "../../infra/api/openapi/requests.ts";

export type Json = Readonly<Record<string, unknown>>;

/** Values of a JSON Schema. Supports only the keywords of the OpenAPI document. */
export function arbitraryOf(schema: Json, document: Json): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === "string") return arbitraryOf(pointed(document, schema.$ref), document);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  if (Array.isArray(schema.anyOf)) return fc.oneof(...schema.anyOf.map((each: Json) => arbitraryOf(each, document)));
  if (Array.isArray(schema.type))
    return fc.oneof(...schema.type.map((type: unknown) => arbitraryOf({ ...schema, type }, document)));
  switch (schema.type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
      return integer(schema);
    case "string":
      return text(schema);
    case "array":
      return fc.array(arbitraryOf(schema.items as Json, document), { maxLength: 4 });
    case "object":
      return object(schema, document);
    default:
      throw new TypeError(`This schema is not supported: ${JSON.stringify(schema)}`);
  }
}

const pointed = (document: Json, reference: string): Json =>
  reference
    .split("/")
    .slice(1)
    .reduce((value, key) => value[key] as Json, document);

/** Mostly small integers, which are ids of existing records. */
function integer({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: { minimum?: number; maximum?: number }) {
  return fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: minimum, max: 160 }) },
    fc.maxSafeInteger().filter((value) => value >= minimum && value <= maximum),
    fc.constantFrom(minimum, maximum),
  );
}

interface Text {
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
}

const known = [
  ...["administrator", "Editor", "view-users", "kodansha", "naoki-urasawa", "Naoki", "Tezuka", "German", "de"],
  ...["slug", "type", "public,type", "'; --", "%", "ß", "e\u0301", "\u0301", " x ", imageExample],
];

/** Random texts, and some that random generation would seldom produce: known names, ids and Base64. */
function text({ pattern = "", minLength = 0, maxLength = 300 }: Text) {
  const isValid = new RegExp(pattern, "u");
  const max = Math.min(maxLength, 300);
  const fits = (value: string) =>
    isValid.test(value) && [...value].length >= minLength && [...value].length <= maxLength;
  const fitting = [...known, "😀".repeat(max)].filter(fits);
  return fc
    .oneof(
      fc.string({ unit: "binary", minLength, maxLength: 20 }),
      fc.string({ unit: "binary", minLength: Math.max(minLength, max - 3), maxLength: max }),
      fc.string({ unit: "grapheme", minLength, maxLength: 40 }),
      ...(fitting.length > 0 ? [{ weight: 2, arbitrary: fc.constantFrom(...fitting) }] : []),
      { weight: 2, arbitrary: fc.integer({ min: 1, max: 160 }).map(String) },
      fc.base64String({ maxLength: 40 }),
    )
    .filter(fits);
}

function object({ properties = {}, required = [] }: Json, document: Json) {
  const values = Object.entries(properties as Record<string, Json>).map(
    ([name, schema]) => [name, arbitraryOf(schema, document)] as const,
  );
  return fc
    .record(Object.fromEntries(values), { requiredKeys: required as string[] })
    .map((value) => ({ ...value, unknown: "is ignored" }));
}
