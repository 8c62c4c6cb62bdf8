import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Declaration, isNavigation, needsCaller } from "../../../lib/contract/declare.ts";
import { resources } from "../../../lib/contract/endpoints.ts";
import { permissions } from "../../../lib/contract/permissions.ts";
import manifest from "../../../package.json" with { type: "json" };
import { clientCallOf } from "./client-calls.ts";
import { readExamples } from "./examples.ts";
import { localServer } from "./file.ts";
import { exactNames } from "./patterns.ts";
import { parametersOf, preference, requestBodyOf, requestSchemas } from "./requests.ts";
import { commonResponses, responsesOf } from "./responses.ts";
import { type JsonSchema, responseSchemas } from "./schemas.ts";

/** The tag of the endpoints that the interface does not have, and the section about them in the contract's README. */
const beyond = "Beyond the interface";

const tags: Readonly<Record<string, string>> = {
  "Public contributors": "Published contributors, as the website shows them.",
  "Public publishers": "Publishing houses and their publications.",
  Users: "Accounts, their roles and profile images.",
  Roles: "Sets of permissions, which users have.",
  Permissions: "What a role can permit.",
  "Administrative contributors": "Authors, artists and similar persons, unpublished ones included.",
  [beyond]:
    "Further operations for panels. In other operations, parameters and fields beyond the interface are marked.",
};

interface DocumentOptions {
  /** Where the API is. */
  readonly server?: string | undefined;
  /** Whether the patterns of names are those of the declarations, for tools that can read them. */
  readonly areNamesExact?: boolean;
}

/** The OpenAPI document of the interface, made from its declarations. By default the server is that of `npm start`. */
export function openApiDocument({ server = localServer, areNamesExact = false }: DocumentOptions = {}) {
  const operations = Object.entries(resources).flatMap(([tag, declarations]) =>
    Object.entries(declarations)
      .map(([name, declaration]) => ({ tag, name, declaration }))
      .sort(inReadingOrder),
  );
  return {
    openapi: "3.1.1",
    info: {
      title: "Colophon",
      version: manifest.version,
      summary: manifest.description,
      description: introduction(),
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: server }],
    tags: Object.keys(resources).map((name) => ({ name, description: tags[name] ?? name })),
    paths: Object.fromEntries(
      [...Map.groupBy(operations, ({ declaration }) => declaration.path)].map(([path, endpoints]) => [
        path,
        Object.fromEntries(endpoints.map((each) => [each.declaration.method.toLowerCase(), operation(each)])),
      ]),
    ),
    components: {
      securitySchemes: {
        refreshToken: {
          type: "apiKey",
          in: "cookie",
          name: "refreshToken",
          description: "The refresh token of the user's session.",
        },
      },
      parameters: { Prefer: preference },
      responses: commonResponses(),
      headers: {
        CacheControl: text("Which caches may keep the response, and for how long", "no-store"),
        ETag: text(
          "The version of the response, for `If-None-Match`; of a list only with a `limit`",
          'W/"2jmj7l5rSw0yVb_vlWAYkK_YBwk"',
        ),
        Version: {
          description: "The record's version, a strong tag for `If-Match`",
          schema: { type: "string", pattern: '^"[!#-~]*"$' },
          example: '"7"',
        },
        Location: {
          ...text("Beyond the interface: the path of the new record, with the id at its end", "/admin-roles/id/207"),
          "x-extension": true,
        },
        ContentLocation: {
          ...text(
            "Beyond the interface: the path with the record's slug, if the request has a former one",
            "/contributor/slug/osamu-tezuka",
          ),
          "x-extension": true,
        },
        RetryAfter: text("Seconds to wait", "5"),
        InvalidParameters: {
          ...text(
            "Beyond the interface: what is wrong with each parameter, as a list of RFC 9651",
            'order;reason="unknown";allowed="name-asc name-desc", client;reason="missing"',
          ),
          "x-extension": true,
        },
        MissingPermission: {
          ...text("Beyond the interface: the key of the permission that the caller lacks", "edit-users"),
          "x-extension": true,
        },
      },
      schemas: areNamesExact ? withExactNames(schemas()) : schemas(),
    },
  };
}

/** A header. */
const text = (description: string, example: string) => ({ description, schema: { type: "string" }, example });

/** The guide, and what else of the contract's README callers need. */
function introduction(): string {
  const guide = pageOfContract("guide.md").replace(/^# .*/, "");
  const texts = [guide, ...["Who may do what", "Limits and sizes", beyond].map(readmeSection)];
  return withOwnLinks(texts.map((text) => text.trim()).join("\n\n"));
}

const pageOfContract = (name: string) => readFileSync(join(import.meta.dirname, "../../../lib/contract", name), "utf8");

/** A section of the contract's README, with its heading. */
function readmeSection(heading: string): string {
  const section = pageOfContract("README.md")
    .split(/\n(?=## )/)
    .find((each) => each.startsWith(`## ${heading}\n`));
  if (!section) throw new Error(`lib/contract/README.md has no section "${heading}"`);
  return section;
}

/** Links lead to headings of the same text; those to other files would lead nowhere from the document. */
function withOwnLinks(text: string): string {
  const headings = new Set((text.match(/(?<=^## ).+$/gm) ?? []).map((each) => each.toLowerCase().replaceAll(" ", "-")));
  return text.replaceAll(/\[([^\]]+)\]\((?!https?:)[^)#]*(?:#([^)]*))?\)/g, (_, label: string, anchor = "") =>
    headings.has(anchor) ? `[${label}](#${anchor})` : label,
  );
}

interface NamedDeclaration {
  readonly tag: string;
  readonly name: string;
  readonly declaration: Declaration;
}

/** GET comes before POST, and DELETE comes last. */
const inReadingOrder = ({ declaration: one }: NamedDeclaration, { declaration: other }: NamedDeclaration) =>
  methods.indexOf(one.method) - methods.indexOf(other.method) || (one.path < other.path ? -1 : 1);

const methods = ["GET", "POST", "DELETE"];

function operation({ tag, name, declaration }: NamedDeclaration) {
  const { summary, permission, needsSession } = declaration;
  return {
    operationId: name,
    tags: [tag],
    summary,
    description: permission
      ? `Needs the permission \`${permission}\`: ${permissions[permission]}.`
      : needsSession
        ? "Needs a session, and no permission."
        : "Needs no permission.",
    ...(permission ? { "x-permission": permission } : {}),
    // An endpoint that the interface does not have.
    ...(tag === beyond ? { "x-extension": true } : {}),
    security: securityOf(declaration),
    parameters: [
      ...parametersOf(declaration),
      ...(isNavigation(declaration) ? [] : [{ $ref: "#/components/parameters/Prefer" }]),
    ],
    ...(declaration.body ? { requestBody: requestBodyOf(name, declaration) } : {}),
    responses: responsesOf(declaration),
    ...(isNavigation(declaration)
      ? {}
      : { "x-codeSamples": [{ lang: "TypeScript", label: "Client", source: clientCallOf(name, declaration) }] }),
  };
}

/** The cookie, which sign-out takes and does not need. */
function securityOf(declaration: Declaration) {
  if (needsCaller(declaration)) return [{ refreshToken: [] }];
  return declaration.needsSignIn && !isNavigation(declaration) ? [{ refreshToken: [] }, {}] : [];
}

/** The schemas of bodies and responses by name, those of responses with examples. */
function schemas(): Record<string, JsonSchema> {
  const examples = readExamples();
  const responses = Object.entries(responseSchemas()).map(([name, schema]) => [
    name,
    { ...schema, ...(name in examples ? { examples: [examples[name]] } : {}) },
  ]);
  const all = Object.entries<JsonSchema>({ ...requestSchemas(), ...Object.fromEntries(responses) });
  return Object.fromEntries(all.sort(([one], [other]) => (one < other ? -1 : 1)));
}

const withExactNames = (all: Record<string, JsonSchema>): Record<string, JsonSchema> => ({
  ...all,
  ...Object.fromEntries(Object.entries(exactNames).map(([name, pattern]) => [name, { ...all[name], pattern }])),
});

/**
 * The text of the document: a line for each operation and each component, so that it is compact and a change shows in a
 * diff.
 */
export const openApiText = () => `${inLines(JSON.parse(JSON.stringify(openApiDocument())), 3)}\n`;

/** JSON with a line for each field of the objects that are nested less than `depth` times. */
function inLines(value: unknown, depth: number): string {
  if (depth === 0 || typeof value !== "object" || value === null || Array.isArray(value)) return JSON.stringify(value);
  const fields = Object.entries(value);
  return `{\n${fields.map(([name, each]) => `${JSON.stringify(name)}: ${inLines(each, depth - 1)}`).join(",\n")}\n}`;
}
