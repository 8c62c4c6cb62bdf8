import type { APIGatewayProxyEvent } from "aws-lambda";
import { Compile, parse } from "velocityjs";
import * as z from "zod";

/** What API Gateway's templates know beside `$context` and `$input.params`; here a response would show their names. */
const unknownVariables =
  /\$!?\{?(?:util|stageVariables|input\.(?!params\b)|context\.responseOverride\.(?!header\b))\w*/;

/** A mapping template (API Gateway, "Mapping template and access logging variable reference"), parsed once. */
export const mappingTemplate = z.string().transform((text, { issues }) => {
  const [unknown] = unknownVariables.exec(text) ?? [];
  try {
    if (unknown === undefined) return parse(text);
    issues.push({ code: "custom", message: `templates have no ${unknown}`, input: text });
  } catch (error) {
    issues.push({ code: "custom", message: `no Velocity template: ${String(error).split("\n")[0]}`, input: text });
  }
  return z.NEVER;
});

/** Java's `String.matches`, by which templates compare a whole value. */
const matches = {
  uid: "String.matches",
  match: ({ property, context }: { property: string; context: unknown }) =>
    property === "matches" && (typeof context === "string" || context == null),
  resolve: ({ context, params }: { context: unknown; params: unknown[] }) =>
    typeof context === "string" && new RegExp(`^(?:${params[0]})$`).test(context),
};

/** The text of a template for a request, and the headers of its `$context.responseOverride`. */
export function render(template: z.infer<typeof mappingTemplate>, event: APIGatewayProxyEvent) {
  const { pathParameters, queryStringParameters, headers, requestContext } = event;
  const overridden: Record<string, string> = {};
  const parameters = { path: pathParameters ?? {}, querystring: queryStringParameters ?? {}, header: headers };
  const text = new Compile(template, { customMethodHandlers: [matches] }).render({
    input: { params: () => parameters },
    context: { ...requestContext, responseOverride: { header: overridden } },
  });
  return { text, headers: Object.entries(overridden) };
}

/** Mappings of a response's headers, whose names begin with a prefix: names and values. */
export const headerMappings = <Value extends z.ZodType>(prefix: string, value: Value) =>
  z
    .record(z.string().startsWith(prefix), value)
    .transform((mappings) => Object.entries(mappings).map(([name, each]) => [name.slice(prefix.length), each] as const))
    .default([]);
