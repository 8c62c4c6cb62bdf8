import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { openApiDocument } from "../../infra/api/openapi/document.ts";
import { listName } from "../../infra/api/openapi/schemas.ts";
import { type Declaration, isNavigation, needsCaller } from "../../lib/contract/declare.ts";
import { endpoints, resources } from "../../lib/contract/endpoints.ts";
import { nothingChanged } from "../../lib/contract/errors.ts";
import { type Json, operations, document as read } from "./operations.ts";

const document = openApiDocument();
/** All schemas, and what is nested in them. */
const schemasIn = (value: unknown): Json[] =>
  typeof value === "object" && value !== null
    ? [...("type" in value || "anyOf" in value ? [value as Json] : []), ...Object.values(value).flatMap(schemasIn)]
    : [];

const declarations = Object.values(resources).flatMap((each) => Object.entries(each));
/** The names of the declarations that fulfil a condition. */
const declared = (condition: (declaration: Declaration) => unknown) =>
  declarations.flatMap(([name, each]) => (condition(each) ? [name] : [])).toSorted();
const namesOf = (some: readonly { operationId: string }[]) => some.map(({ operationId }) => operationId).toSorted();

describe("The OpenAPI document", () => {
  it("has an operation for each declaration, by its name, with its permission", () => {
    expect(namesOf(operations)).toEqual(declared(() => true));
    for (const [name, { permission = "no permission" }] of declarations)
      expect(operations.find(({ operationId }) => operationId === name)?.description).toContain(permission);
    expect(operations).toHaveLength(endpoints.length);
  });

  it("names bodies, records, lists, the envelope and all objects in them, and keeps to what generators of clients understand", () => {
    const reference = { $ref: expect.stringMatching(/^#\/components\/schemas\/\w+$/) };
    for (const { requestBody, responses } of operations) {
      for (const { schema } of Object.values<Json>(requestBody?.content ?? {})) expect(schema).toEqual(reference);
      const { content } = responses[200] ?? {};
      if (content) expect(content["application/json"].schema).toEqual(reference);
    }
    for (const { response } of endpoints)
      if ("list" in response) expect(read.components.schemas).toHaveProperty(listName(response.list));
    for (const { response } of endpoints)
      if ("list" in response && response.field)
        expect(read.components.schemas[listName(response.list)].properties).toHaveProperty(response.field);
    const problems = schemasIn(read).filter(({ type, format, enum: values, maximum, anyOf, additionalProperties }) => {
      const isLarge = type === "integer" && !values && (maximum === undefined || Number(maximum) > 2 ** 31);
      const isUnion = Array.isArray(anyOf) && !(anyOf.length === 2 && anyOf[1].type === "null");
      return (isLarge && format !== "int64") || isUnion || additionalProperties !== undefined;
    });
    expect(problems).toEqual([]);
    const nested = Object.entries<Json>(read.components.schemas).filter(([, { properties }]) =>
      schemasIn(properties).some(({ type }) => type === "object"),
    );
    expect(nested.map(([name]) => name)).toEqual([]);
  });

  const hasHeader = (name: string) => (operation: Json) =>
    JSON.stringify(operation.responses[200] ?? "").includes(`"#/components/headers/${name}"`);
  const takesHeader = (name: string) => (operation: Json) =>
    operation.parameters.some((each: Json) => each.in === "header" && each.name === name);
  const mergePatch = "application/merge-patch+json";
  const isChange = ({ permission, method }: Declaration) => permission && method !== "GET";
  const isEdit = (each: Declaration) => isChange(each) && each.parameters;
  const isDetail = ({ permission, method, parameters }: Declaration) => permission && method === "GET" && parameters;
  const hasExtension = ({ parameters }: Json) => parameters.some((each: Json) => each["x-extension"]);

  it.each<{
    what: string;
    isShown: (operation: Json) => unknown;
    isDeclared: (declaration: Declaration) => unknown;
  }>([
    { what: "a redirect", isShown: ({ responses }) => responses[302], isDeclared: isNavigation },
    {
      what: "the cookie",
      isShown: ({ security }) => JSON.stringify(security) === '[{"refreshToken":[]}]',
      isDeclared: needsCaller,
    },
    {
      what: "a permission",
      isShown: (operation) => operation["x-permission"],
      isDeclared: ({ permission }) => permission,
    },
    { what: "If-Match", isShown: takesHeader("If-Match"), isDeclared: isEdit },
    { what: "412", isShown: ({ responses }) => responses[412], isDeclared: isEdit },
    { what: "Idempotency-Key", isShown: takesHeader("Idempotency-Key"), isDeclared: isChange },
    { what: "a version", isShown: hasHeader("Version"), isDeclared: isDetail },
    { what: "a Location", isShown: hasHeader("Location"), isDeclared: ({ creates }) => creates },
    {
      what: "a Content-Location",
      isShown: hasHeader("ContentLocation"),
      isDeclared: ({ followsSlugs }) => followsSlugs,
    },
    {
      what: "a merge patch",
      isShown: ({ requestBody }) => requestBody?.content[mergePatch],
      isDeclared: (each) => each.mergePatch,
    },
    {
      what: "a parameter beyond the interface",
      isShown: hasExtension,
      isDeclared: ({ extensionQuery }) => extensionQuery,
    },
  ])("has $what where a declaration has it", ({ isShown, isDeclared }) => {
    expect(namesOf(operations.filter(isShown))).toEqual(declared(isDeclared));
    expect(declared(isDeclared)).not.toEqual([]);
  });

  it("has what API Gateway itself responds to any request", () => {
    const own = expect.arrayContaining(["413", "415", "417", "429", "504"]);
    for (const { operationId, responses } of operations) expect(Object.keys(responses), operationId).toEqual(own);
  });

  it("begins with what needs no sign-in", () => {
    const { tags } = read as { readonly tags: readonly { readonly name: string }[] };

    expect(tags.map(({ name }) => name).filter((_, index) => index < 2)).toEqual([
      "Public contributors",
      "Public publishers",
    ]);
    expect(Object.keys(read.paths)[0]).toMatch(/^\/contributor/);
  });

  it("lists parameters that a request needs first, reserved ones last", () => {
    for (const { operationId, parameters } of operations) {
      const query: readonly Json[] = parameters.filter((each: Json) => each.in === "query");
      const ranks = query.map(({ name, required }) => (required ? 0 : name === "lang" ? 2 : 1));
      expect([operationId, ranks]).toEqual([operationId, ranks.toSorted()]);
    }
    const list = operations.find(({ operationId }) => operationId === "listContributors");
    const names = list?.parameters.flatMap((each: Json) => (each.in === "query" ? [each.name] : []));
    expect([names.at(0), names.at(-1)]).toEqual(["client", "lang"]);
  });

  it("marks what is beyond the interface, in a section of its own", () => {
    const beyond = /^Beyond the interface: /;
    for (const { parameters } of operations)
      for (const { description, "x-extension": isMarked } of parameters)
        expect(beyond.test(description ?? "")).toBe(isMarked ?? false);
    expect(document.info.description).toContain("\n## Beyond the interface\n");
  });

  it("has merge patches without defaults and required fields", () => {
    for (const { operationId } of operations.filter(({ requestBody }) => requestBody?.content[mergePatch])) {
      const name = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}`;
      const { properties = {}, required } = read.components.schemas[name];
      const { examples: _, ...patch } = read.components.schemas[`${name}Patch`];
      const withoutDefaults = JSON.parse(JSON.stringify(properties), (key, value) =>
        key === "default" ? undefined : value,
      );
      expect(required).toHaveLength(1);
      const description = expect.stringMatching(/^Beyond the interface: /);
      expect(patch).toEqual({ type: "object", description, properties: withoutDefaults });
    }
  });

  it("says which rules forbid a request to callers with the permission, and what the rules are", async () => {
    const readme = await readFile("lib/contract/README.md", "utf8");
    const [, section] = /\n(## Who may do what\n.+?)\n## /s.exec(readme) ?? [];
    expect(document.info.description).toContain(section?.trim());
    for (const [name, { forbids = {} }] of declarations) {
      const description = operations.find(({ operationId }) => operationId === name)?.responses[403]?.description;
      for (const [rule, text] of Object.entries(forbids)) expect(description).toContain(`- Rule ${rule}: ${text}`);
      if (Object.keys(forbids).length === 0) expect(description ?? "").not.toContain("- Rule ");
    }
  });

  it("says of every change that a 503 may come although it was made, and what to do then", () => {
    const { description } = document.components.responses.ChangeUnavailable ?? {};
    expect(description).toContain(nothingChanged);
    expect(description).toContain("Idempotency-Key");
    for (const { operationId, responses } of operations.filter(takesHeader("Idempotency-Key")))
      expect(JSON.stringify(responses[503]), operationId).toMatch(/\/ChangeUnavailable|the change is made once/);
  });
});
