import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { APIGatewayProxyEvent } from "aws-lambda";
import * as z from "zod/mini";
import { type Declaration, endpointPath } from "../../../lib/contract/declare.ts";
import { resources } from "../../../lib/contract/endpoints.ts";
import { headersOf, strictHandling } from "../../../lib/contract/headers.ts";
import {
  bodySchemas,
  defaultOf,
  isOptional,
  type JsonSchema,
  outputSchema,
  parameterSchema,
  reference,
} from "./schemas.ts";

/** A picture of one pixel. */
export const imageExample =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const events = join(import.meta.dirname, "../../../events");

/** An entity tag (RFC 9110, 8.8.3). */
const tag = '(W/)?"[!#-~]*"';

/** Descriptions of parameters and fields. */
const meanings: Readonly<Record<string, string>> = {
  limit: "The maximum number of records; by default all.",
  offset: "The number of records to skip.",
  search:
    "Words that all occur in the name or an alias (of users: in the name), in any order, as parts of words too, " +
    "regardless of case and accents; `%` and `_` stand for themselves.",
  client: "The website whose catalogue is read.",
  lang: "Reserved; not used yet.",
  user_lang:
    "The language of `alias` and `description`: a tag of BCP 47, a code of ISO 639, or its name in English or in itself.",
  order: "The order of the records.",
  include: "further fields to show, separated by commas.",
  "changed-since": "only records that have been changed since then.",
  ids: "only records with one of these ids, separated by commas; at most 200.",
  permission: "only roles that give the permission of this id.",
  website: "only contributors with a link, or without one.",
  lock: "`none` returns the record, and neither takes nor renews the edit lock.",
  role: "Only users with the role of this id.",
  to: "The page of the panel to come back to: a path on its origin, such as `/users?page=2`, or a URL of that origin.",
  gender: "Any text, such as `female`.",
  type: "Any text, such as `author and artist`.",
  disambiguation:
    "Beyond the interface: tells contributors of one name apart, such as `poet, 1950`; part of the unique name.",
  sort_name:
    "Beyond the interface: by what the contributor is sorted, such as `Tezuka, Osamu`; by default the last name, a comma " +
    "and the first name.",
  letter:
    "only records that are sorted under this letter of any script, regardless of case and accents; `#` for those that " +
    "begin with none.",
  tag: "Only series with the tag of this name, regardless of case.",
  public: "Whether public endpoints show the contributor.",
  links:
    "Addresses of web pages, http or https; an address with neither gets `https://`. Objects as in a detail are accepted, too.",
  added_aliases: "Names; objects with a `name` are accepted, too.",
  removed_aliases: "Ids of aliases; objects with an `id` are accepted, too.",
  added_descriptions:
    "Each language by a tag of BCP 47, a code of ISO 639, or its name in English or in itself; any other text is kept as " +
    "it is.",
  removed_descriptions: "Ids of descriptions; objects with an `id` are accepted, too.",
  modified_descriptions: "Ids of descriptions, with the fields that change.",
  added_relations: "Ids of other contributors, each with the kind of relation: any text, such as `sibling`.",
  removed_relations: "Ids of relations; objects with an `id` are accepted, too.",
  modified_relations: "Ids of relations, with the fields that change.",
  added_roles: "Ids of roles.",
  removed_roles: "Ids of roles.",
  added_permissions: "Ids of permissions.",
  removed_permissions: "Ids of permissions; a permission that is both added and removed ends up removed.",
  image: "A Base64-encoded image, as a data URL or bare, of at most 6,000,000 characters.",
};

/** Descriptions of query parameters; a filter may have the name of a field. */
const queryMeanings: typeof meanings = {
  ...meanings,
  type: "Only records of exactly this type.",
};

/** The headers that a request may carry. */
const headers = {
  "If-Match": {
    description:
      'The expected `ETag` of the record, such as `"7"`. If the record has another, the response is 412 and nothing changes.',
    schema: { type: "string", pattern: `^(\\*|${tag}( ?, ?${tag})*)$` },
    example: '"7"',
  },
  "Idempotency-Key": {
    description:
      "A random text for this change, stored for a day at least. After a 503, a 504 or a lost response, send the same " +
      "request with the same key again: the change is made once, and each request gets the same response.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]*$" },
    example: "5f0c6a1e-8d0b-4a53-9f0e-2b7c1d9a6e34",
  },
} as const;

/** A header that every request may carry. */
export const preference = {
  name: "Prefer",
  in: "header",
  required: false,
  description:
    "Beyond the interface: with `handling=strict`, a query parameter or a field of the body that the operation does not " +
    "have is 400, and the response has `Preference-Applied`. Otherwise it is ignored.",
  "x-extension": true,
  schema: { type: "string" },
  example: strictHandling,
} as const;

const descriptionOf = (name: string, all = meanings) => (all[name] ? { description: all[name] } : {});

/** The parameters of an endpoint, with the values of its sample event as examples: first those that a request needs. */
export function parametersOf(declaration: Declaration) {
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
      const known = location === "query" ? queryMeanings : meanings;
      const sample = samples?.[name] ?? usualSamples[name] ?? json.default ?? sampleOf(schema);
      return {
        name,
        in: location,
        required,
        // An empty query parameter counts as absent.
        ...(required ? {} : { allowEmptyValue: true }),
        ...(isExtension
          ? { description: `Beyond the interface: ${known[name] ?? ""}`, "x-extension": true }
          : descriptionOf(name, known)),
        schema: json,
        example: json.type === "integer" ? Number(sample) : sample,
      };
    });
  const query = [
    ...read("query", declaration.query, event?.queryStringParameters),
    ...read("query", declaration.extensionQuery, event?.queryStringParameters, true),
  ];
  return [
    ...read("path", declaration.parameters, event?.pathParameters),
    ...query.sort((one, other) => rankOf(one) - rankOf(other)),
    ...headersOf(declaration).map((name) => ({ name, in: "header" as const, required: false, ...headers[name] })),
  ];
}

/** A parameter that requests need comes first, and one that is reserved last. */
const rankOf = ({ name, required }: { readonly name: string; readonly required: boolean }): number =>
  name === "lang" ? 2 : required ? 0 : 1;

/** Values of parameters that a sample event leaves out. */
const usualSamples: Readonly<Record<string, string>> = {
  "changed-since": "2026-11-20T10:15:00Z",
  client: "1",
  ids: "1,2,3",
  lang: "English",
  letter: "U",
  permission: "1",
  role: "2",
  search: "a",
  type: "author",
};

/** Of words the first, or all of them with commas between them. */
function sampleOf(schema: z.ZodMiniType): unknown {
  const { enum: words, items } = outputSchema(schema);
  return Array.isArray(words) ? words[0] : Object(items).enum?.join();
}

export const bodyName = (operation: string): string => operation.charAt(0).toUpperCase() + operation.slice(1);

/**
 * What an operation takes as a body: a whole record, or a merge patch of it. Many generators know only the first one, so
 * that is the patch: it can leave out anything, and changes nothing else.
 */
export function bodiesOf(operation: string, declaration: Declaration) {
  const { body, mergePatch, needsFileService } = declaration;
  if (!body) return [];
  const name = bodyName(operation);
  const example = needsFileService ? { image: imageExample } : JSON.parse(sampleEvent(declaration)?.body ?? "{}");
  const whole = { type: "application/json", name, schema: z.object(body), description: undefined, example };
  const patch = {
    type: "application/merge-patch+json",
    name: `${name}Patch`,
    schema: z.partial(z.object(body)),
    description:
      "Beyond the interface: a merge patch (RFC 7396). Fields that are left out stay as they are; `null` empties a field.",
    example: Object.fromEntries(Object.entries(example).slice(0, 1)),
  };
  return mergePatch ? [patch, whole] : [whole];
}

export const requestBodyOf = (operation: string, declaration: Declaration): object => ({
  required: true,
  content: Object.fromEntries(
    bodiesOf(operation, declaration).map(({ type, name, description, example }) => [
      type,
      { schema: reference(name), example, ...(description ? { "x-extension": true } : {}) },
    ]),
  ),
});

/** The schemas of all bodies, and of what their fields have in common, by name. */
export function requestSchemas(): Readonly<Record<string, JsonSchema>> {
  const bodies = Object.values(resources).flatMap((each) =>
    Object.entries(each).flatMap(([operation, declaration]) => bodiesOf(operation, declaration)),
  );
  const schemas = bodySchemas(Object.fromEntries(bodies.map(({ name, schema }) => [name, schema])));
  for (const { name, schema, description } of bodies) {
    const fields = Object.entries(schema.def.shape).map(([field, each]) => [
      field,
      { ...descriptionOf(field), ...Object(schemas[name]?.properties)[field], ...(description ? {} : defaultOf(each)) },
    ]);
    const properties = Object.fromEntries(fields);
    schemas[name] = { ...schemas[name], ...(description ? { description } : {}), properties };
  }
  return schemas;
}

/** The sample event. Those of the file service contain whole images, so they are not read. */
export function sampleEvent(declaration: Declaration): Partial<APIGatewayProxyEvent> | undefined {
  if (declaration.needsFileService) return { pathParameters: { id: "5" } };
  const file = join(events, `${endpointPath(declaration)}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}
