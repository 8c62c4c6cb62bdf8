import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { APIGatewayProxyEvent } from "aws-lambda";
import type * as z from "zod/mini";
import { type Declaration, endpointPath } from "../../../lib/contract/declare.ts";
import { headersOf } from "../../../lib/contract/headers.ts";
import { fieldSchema, isOptional, type JsonSchema, parameterSchema } from "./schemas.ts";

/** A picture of one pixel. */
export const imageExample =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const events = join(import.meta.dirname, "../../../events");

/** An entity tag (RFC 9110, 8.8.3). */
const tag = '(W/)?"[!#-~]*"';

/** Descriptions of parameters and fields. */
const meanings: Readonly<Record<string, string>> = {
  limit: "The most records to give; all of them by default.",
  offset: "The records to skip.",
  search:
    "Words that all occur in the name or an alias (of users: in the name), in any order, as parts of words too, " +
    "regardless of case and accents; `%` and `_` stand for themselves.",
  client: "The website whose catalogue is asked for.",
  lang: "Reserved; not used yet.",
  user_lang: "The language of `alias` and `description`, by its English name or two-letter code.",
  include: "further fields to show, separated by commas.",
  lock: "`none` shows the record without taking its edit lock, or renewing it.",
  role: "Only users with the role of this id.",
  to: "The page of the panel to come back to: a path on its origin, such as `/users?page=2`.",
  gender: "Any text, such as `female`.",
  type: "Any text, such as `author and artist`.",
  public: "Whether public endpoints show the contributor.",
  links:
    "Addresses of web pages, http or https, as strings or as a detail shows them; `https://` is added where neither is named.",
  added_aliases: "Names, as text or as objects with a `name`.",
  removed_aliases: "Ids of aliases, or objects with an `id`.",
  added_descriptions: "Languages by their English names or two-letter codes; any other text is kept as it is.",
  removed_descriptions: "Ids of descriptions, or objects with an `id`.",
  modified_descriptions: "Ids of descriptions with what changes of them.",
  added_relations: "Other contributors by their ids, and how they are related: any text, such as `sibling`.",
  removed_relations: "Ids of relations, or objects with an `id`.",
  modified_relations: "Ids of relations with what changes of them.",
  added_roles: "Ids of roles.",
  removed_roles: "Ids of roles.",
  added_permissions: "Ids of permissions.",
  removed_permissions: "Ids of permissions; one that is also added ends up removed.",
  image: "A Base64-encoded image, as a data URL or bare, of at most 6,000,000 characters.",
};

/** The headers that a request may carry. */
const headers = {
  "If-Match": {
    description: 'The `ETag` that the record must still have, such as `"7"`; else nothing changes.',
    schema: { type: "string", pattern: `^(\\*|${tag}( ?, ?${tag})*)$` },
  },
  "Idempotency-Key": {
    description:
      "A name of your choice for this change, known for a day at least. The same request can be sent again under it after " +
      "a 503, a 504 or no answer at all: the change is made once, and each request for it gets the same answer.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]*$" },
  },
} as const;

const descriptionOf = (name: string) => (meanings[name] ? { description: meanings[name] } : {});

/** The parameters of an endpoint, with the values of its sample event as examples. */
export function parametersOf(declaration: Declaration): readonly unknown[] {
  const event = sampleEvent(declaration);
  const read = (
    location: "path" | "query",
    shape: Readonly<Record<string, z.ZodMiniType>> = {},
    samples: Readonly<Record<string, string | undefined>> | null | undefined,
    isExtension = false,
  ) =>
    Object.entries(shape).map(([name, schema]) => {
      const json = parameterSchema(schema);
      const required = location === "path" || !isOptional(schema);
      const sample = samples?.[name];
      return {
        name,
        in: location,
        required,
        // An empty query parameter counts as absent.
        ...(required ? {} : { allowEmptyValue: true }),
        ...(isExtension
          ? { description: `Beyond the interface: ${meanings[name] ?? ""}`, "x-extension": true }
          : descriptionOf(name)),
        schema: json,
        ...(sample === undefined ? {} : { example: json.type === "integer" ? Number(sample) : sample }),
      };
    });
  return [
    ...read("path", declaration.parameters, event?.pathParameters),
    ...read("query", declaration.query, event?.queryStringParameters),
    ...read("query", declaration.extensionQuery, event?.queryStringParameters, true),
    ...headersOf(declaration).map((name) => ({ name, in: "header", required: false, ...headers[name] })),
  ];
}

/** The body of an endpoint, with that of its sample event as example. */
export function requestBodyOf(declaration: Declaration): object | undefined {
  if (!declaration.body) return undefined;
  const fields = Object.entries(declaration.body);
  const properties = fields.map(
    ([name, schema]) => [name, { ...descriptionOf(name), ...fieldSchema(schema) }] as const,
  );
  const example = declaration.needsFileService
    ? { image: imageExample }
    : JSON.parse(sampleEvent(declaration)?.body ?? "{}");
  return {
    required: true,
    content: {
      "application/json": {
        schema: {
          type: "object",
          properties: Object.fromEntries(properties),
          required: fields.filter(([, schema]) => !isOptional(schema)).map(([name]) => name),
        },
        example,
      },
      ...(declaration.mergePatch ? { "application/merge-patch+json": mergePatch(properties, example) } : {}),
    },
  };
}

/** A merge patch has no defaults, and requires nothing. */
const mergePatch = (
  properties: readonly (readonly [name: string, schema: JsonSchema])[],
  example: Readonly<Record<string, unknown>>,
) => ({
  schema: {
    description:
      "Beyond the interface: a merge patch (RFC 7396). What it leaves out stays as it is, and `null` empties a field.",
    type: "object",
    properties: Object.fromEntries(properties.map(([name, { default: _, ...schema }]) => [name, schema])),
  },
  example: Object.fromEntries(Object.entries(example).slice(0, 1)),
  "x-extension": true,
});

/** The sample event. Those of the file service contain whole images, so they are not read. */
function sampleEvent(declaration: Declaration): Partial<APIGatewayProxyEvent> | undefined {
  if (declaration.needsFileService) return { pathParameters: { id: "5" } };
  const file = join(events, `${endpointPath(declaration)}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}
