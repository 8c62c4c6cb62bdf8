import { join } from "node:path";
import type * as z from "zod/mini";
import { name, nameOrEmpty } from "../../../lib/contract/parameters.ts";
import { expectations, lineSchemas } from "../../../lib/operators/catalogue-lines.ts";
import { nameSchemas, unfit } from "./patterns.ts";
import { inputSchema, type JsonSchema, replace, restrictText } from "./schemas.ts";

/** Where the JSON Schema of a catalogue's lines is kept. */
export const catalogueLinesFile = join(import.meta.dirname, "../../../lib/operators/catalogue-lines.schema.json");

/** The text of the JSON Schema of a catalogue's lines. */
export function catalogueLinesText(): string {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "A line of a catalogue",
    oneOf: Object.keys(lineSchemas).map((kind) => ({ $ref: `#/$defs/${kind}` })),
    $defs: {
      ...Object.fromEntries(Object.entries(lineSchemas).map(([kind, each]) => [kind, lineSchema(each)])),
      ...nameSchemas,
    },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

const lineSchema = (schema: z.ZodMiniType): JsonSchema =>
  inputSchema(schema, (context) => {
    restrictText(context, unfit);
    if (context.zodSchema === name) replace(context.jsonSchema, { $ref: "#/$defs/Name" });
    if (context.zodSchema === nameOrEmpty) replace(context.jsonSchema, { $ref: "#/$defs/PossibleName" });
    for (const [field, property] of Object.entries(context.jsonSchema.properties ?? {}))
      if (typeof property === "object" && property.const === undefined)
        property.description = String(expectations[field]);
  });
