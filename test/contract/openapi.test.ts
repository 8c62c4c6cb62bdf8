import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { callsFile, clientTypes } from "../../infra/api/client/calls.ts";
import { openApiDocument, openApiText } from "../../infra/api/openapi/document.ts";
import { documentFile } from "../../infra/api/openapi/file.ts";
import { listName } from "../../infra/api/openapi/schemas.ts";
import { type Declaration, isNavigation, needsCaller } from "../../lib/contract/declare.ts";
import { endpoints, resources } from "../../lib/contract/endpoints.ts";
import { nothingChanged } from "../../lib/contract/errors.ts";
import { errorsOf } from "../support/contract.ts";

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
  it("matches the declarations (else run npm run openapi)", async () => {
    expect(await readFile(documentFile, "utf8")).toBe(openApiText());
  });

  it("has an operation for each declaration, by its name", () => {
    expect(namesOf(operations)).toEqual(declared(() => true));
    expect(operations).toHaveLength(endpoints.length);
  });

  it("names bodies, records, lists, the envelope and all objects in them, and keeps to what generators of clients understand", () => {
    const reference = { $ref: expect.stringMatching(/^#\/components\/schemas\/\w+$/) };
    for (const { requestBody, responses } of operations) {
      for (const { schema } of Object.values(requestBody?.content ?? {})) expect(schema).toEqual(reference);
      const { content } = responses[200] ?? {};
      if (content) expect(content["application/json"].schema).toEqual(reference);
    }
    for (const { response } of endpoints)
      if ("list" in response) expect(read.components.schemas).toHaveProperty(listName(response.list));
    const problems = schemasIn(read).filter(({ type, format, enum: values, maximum, anyOf, additionalProperties }) => {
      const isLarge = type === "integer" && !values && (maximum === undefined || Number(maximum) > 2 ** 31);
      const isUnion = Array.isArray(anyOf) && !(anyOf.length === 2 && anyOf[1].type === "null");
      return (isLarge && format !== "int64") || isUnion || additionalProperties !== undefined;
    });
    expect(problems).toEqual([]);
    const nested = Object.entries(read.components.schemas as Readonly<Record<string, Json>>).filter(
      ([, { properties }]) => schemasIn(properties).some(({ type }) => type === "object"),
    );
    expect(nested.map(([name]) => name)).toEqual([]);
  });

  it("has what API Gateway itself may say of any request", () => {
    for (const { operationId, responses } of operations)
      expect([operationId, Object.keys(responses)]).toEqual([
        operationId,
        expect.arrayContaining(["413", "415", "417", "429", "504"]),
      ]);
  });

  it("has the permission of every declaration with one, and the cookie of all that are not public", () => {
    for (const [name, declaration] of declarations) {
      const operation = operations.find(({ operationId }) => operationId === name);
      expect(operation?.["x-permission"]).toBe(declaration.permission);
      if (name !== "signOut")
        expect(operation?.security).toEqual(needsCaller(declaration) ? [{ refreshToken: [] }] : []);
      if (declaration.permission) expect(operation?.description).toContain(`\`${declaration.permission}\``);
    }
  });

  it("has redirects and pages where browsers go, and the cookie of sign-out as one that may be missing", () => {
    const navigations = operations.filter(({ responses }) => responses[302]);

    expect(namesOf(navigations)).toEqual(declared(isNavigation));
    for (const { responses, operationId } of navigations) {
      const pages = Object.entries(responses).filter(([, { content = {} }]) => "text/html" in content);
      const statuses = operationId === "startSignIn" ? ["400", "500", "503"] : ["400", "403", "500", "503"];
      expect(pages.map(([status]) => status)).toEqual(statuses);
    }
    const signOut = operations.find(({ operationId }) => operationId === "signOut");
    expect(signOut?.security).toEqual([{ refreshToken: [] }, {}]);
  });

  it("marks what is beyond the interface, and nothing else, and has a section about it", () => {
    for (const { operationId, tags, ...operation } of operations)
      expect([operationId, operation["x-extension"] ?? false]).toEqual([
        operationId,
        tags[0] === "Beyond the interface",
      ]);

    for (const [name, { extensionQuery = {}, mergePatch = false }] of declarations) {
      const { parameters = [], requestBody } = operations.find(({ operationId }) => operationId === name) ?? {};
      const marked = parameters.filter((each) => each["x-extension"]);
      expect([name, marked.map((each) => each.name)]).toEqual([name, Object.keys(extensionQuery)]);
      for (const { description } of marked) expect(description).toMatch(/^Beyond the interface: ./);
      expect([name, JSON.stringify(requestBody ?? {}).includes('"x-extension":true')]).toEqual([name, mergePatch]);
    }
    expect(document.info.description).toContain("\n## Beyond the interface\n");
  });

  it("has the headers of changes, and the ETag of records with a version", () => {
    const headerOf = (name: string) =>
      operations.filter(({ parameters }) => parameters.some((each) => each.in === "header" && each.name === name));
    const versioned = operations.filter(({ responses }) =>
      JSON.stringify(responses[200] ?? "").includes("#/components/headers/Version"),
    );

    const changes = ({ method, permission }: Declaration) => permission && method !== "GET";
    expect(namesOf(headerOf("If-Match"))).toEqual(declared((each) => changes(each) && each.parameters));
    expect(namesOf(headerOf("Idempotency-Key"))).toEqual(declared(changes));
    expect(namesOf(versioned)).toEqual(
      declared(({ method, permission, parameters }) => method === "GET" && permission && parameters),
    );
    for (const { responses } of headerOf("If-Match"))
      expect(responses[412]).toEqual({ $ref: "#/components/responses/PreconditionFailed" });
  });

  it("has a merge patch of the edits that take one, without defaults and required fields, as an extension", () => {
    const type = "application/merge-patch+json";
    const patched = operations.filter(({ requestBody }) => requestBody?.content[type]);
    expect(namesOf(patched)).toEqual(declared(({ mergePatch }) => mergePatch));
    for (const { operationId, requestBody } of patched) {
      const name = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}`;
      const patch = `${name}Patch`;
      const { schema, ...marks } = requestBody?.content[type] ?? { schema: {} };
      const { properties: whole = {}, required } = read.components.schemas[name] as Json;
      const { examples: _, ...partial } = read.components.schemas[patch] as Json;
      const withoutDefaults = Object.entries(whole as Record<string, Json>).map(([field, { default: _, ...each }]) => [
        field,
        each,
      ]);
      expect(required).toHaveLength(1);
      expect([schema, marks]).toEqual([{ $ref: `#/components/schemas/${patch}` }, { "x-extension": true }]);
      expect(partial).toEqual({
        type: "object",
        description: expect.stringMatching(/^Beyond the interface: /),
        properties: Object.fromEntries(withoutDefaults),
      });
    }
  });

  it("has a Location of every addition, an extension, which is the path of a detail", () => {
    const header = { $ref: "#/components/headers/Location" };
    const additions = operations.filter(({ responses }) =>
      JSON.stringify(responses[200] ?? "").includes(JSON.stringify(header)),
    );
    expect(namesOf(additions)).toEqual(declared(({ creates }) => creates));
    const details = operations.filter(({ method }) => method === "GET").map(({ path }) => path);
    for (const { creates } of endpoints) if (creates) expect(details).toContain(creates);
    expect(document.components.headers.Location).toMatchObject({ "x-extension": true });
  });

  it("has a Content-Location where former slugs find a record, an extension", () => {
    const header = { $ref: "#/components/headers/ContentLocation" };
    const found = operations.filter(({ responses }) =>
      JSON.stringify(responses[200] ?? {}).includes(JSON.stringify(header)),
    );
    expect(namesOf(found)).toEqual(declared(({ followsSlugs }) => followsSlugs));
    expect(document.components.headers.ContentLocation).toMatchObject({ "x-extension": true });
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
    const unavailable = document.components.responses as Readonly<Record<string, { description: string }>>;
    for (const { operationId, responses, parameters } of operations.filter(
      (each) => each.method !== "GET" && each["x-permission"],
    )) {
      const { $ref, description = unavailable[$ref?.split("/").at(-1) ?? ""]?.description } = responses[503] ?? {};

      expect([operationId, description]).toEqual([operationId, expect.stringContaining(nothingChanged)]);
      expect([operationId, description]).toEqual([operationId, expect.stringContaining("Idempotency-Key")]);
      expect(parameters.find(({ name }) => name === "Idempotency-Key")?.description).toContain("503");
    }
  });

  it("has every error that a test lets pass", () => {
    for (const [name, declaration] of declarations.filter(([, each]) => !isNavigation(each))) {
      const operation = operations.find(({ operationId }) => operationId === name);
      const text = JSON.stringify({ operation, common: document.components.responses });
      for (const error of errorsOf(declaration)) {
        expect(Object.keys(operation?.responses ?? {})).toContain(String(error.code));
        expect(text).toContain(JSON.stringify(error.data));
      }
    }
  });
});

describe("The client's types", () => {
  it("match the declarations (else run npm run openapi)", async () => {
    expect(await readFile(callsFile, "utf8")).toBe(clientTypes());
  });
});
