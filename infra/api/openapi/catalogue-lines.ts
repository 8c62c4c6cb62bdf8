import { join } from "node:path";
import * as z from "zod/mini";
import { name, nameOrEmpty } from "../../../lib/contract/parameters.ts";
import { expectationOf } from "../../../lib/operators/transfer/catalogue-fields.ts";
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
      ...Object.fromEntries(Object.entries(kinds).map(([kind, { schema }]) => [kind, lineSchema(schema)])),
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
    if (!(context.zodSchema instanceof z.ZodMiniObject)) return;
    for (const [field, each] of Object.entries(context.zodSchema._zod.def.shape)) {
      const property = context.jsonSchema.properties?.[field];
      if (typeof property === "object" && property.const === undefined) property.description = expectationOf(each);
    }
  });
