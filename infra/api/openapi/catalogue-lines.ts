import { join } from "node:path";
import type * as z from "zod/mini";
import { name, nameOrEmpty } from "../../../lib/contract/parameters.ts";
import { expectationOf, type Field, type Fields } from "../../../lib/operators/transfer/catalogue-fields.ts";
import { kinds } from "../../../lib/operators/transfer/catalogue-lines.ts";
import { nameSchemas, unfit } from "./patterns.ts";
import { inputSchema, type JsonSchema, replace, restrictText } from "./schemas.ts";

/** Where the JSON Schema of a catalogue's lines is kept. */
export const catalogueLinesFile = join(
  import.meta.dirname,
  "../../../lib/operators/transfer/catalogue-lines.schema.json",
);

/** The text of the JSON Schema of a catalogue's lines. */
export function catalogueLinesText(): string {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "A line of a catalogue",
    oneOf: Object.keys(kinds).map((kind) => ({ $ref: `#/$defs/${kind}` })),
    $defs: {
      ...Object.fromEntries(Object.entries(kinds).map(([kind, each]) => [kind, lineSchema(each)])),
      ...nameSchemas,
    },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

type ObjectWithFields = Required<Pick<Field, "schema" | "fields">>;

function lineSchema(line: ObjectWithFields): JsonSchema {
  const fieldsOf = new Map<z.core.$ZodType, Fields>(objectsIn(line).map(({ schema, fields }) => [schema, fields]));
  return inputSchema(line.schema, (context) => {
    restrictText(context, unfit);
    if (context.zodSchema === name) replace(context.jsonSchema, { $ref: "#/$defs/Name" });
    if (context.zodSchema === nameOrEmpty) replace(context.jsonSchema, { $ref: "#/$defs/PossibleName" });
    for (const [field, each] of Object.entries(fieldsOf.get(context.zodSchema) ?? {})) {
      const property = context.jsonSchema.properties?.[field];
      if (typeof property === "object") property.description = expectationOf(each);
    }
  });
}

/** The line, and the elements of its lists that have fields. */
const objectsIn = (line: ObjectWithFields): ObjectWithFields[] => [
  line,
  ...Object.values(line.fields).flatMap(({ list }) => {
    const { schema, fields } = list?.element ?? {};
    return schema && fields ? [{ schema, fields }] : [];
  }),
];
