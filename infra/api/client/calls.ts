import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { listUsers } from "../../../lib/contract/admin-users.ts";
import { type Declaration, isNavigation } from "../../../lib/contract/declare.ts";
import { endpoints, resources } from "../../../lib/contract/endpoints.ts";
import { isVersioned } from "../../../lib/contract/headers.ts";
import { openApiDocument } from "../openapi/document.ts";
import { bodyName, parametersOf } from "../openapi/requests.ts";
import { listName, outputSchema } from "../openapi/schemas.ts";
import { errorsOf, errorTypes } from "./errors.ts";
import { declared, fieldsOf, isPlain, type Schema, typeOf } from "./types.ts";

const root = join(import.meta.dirname, "../../..");

/** Where the client's types are kept. */
export const callsFile = join(root, "lib/client/calls.d.ts");

/** Where the client's paths are kept. */
export const pathsFile = join(root, "lib/client/paths.js");

/** The paths that the client knows at run time, by their methods. */
export function clientPaths(): string {
  const known = endpoints.filter((declaration) => !isNavigation(declaration));
  const pathsOf = (method: string) => known.flatMap((each) => (each.method === method ? [each.path] : [])).sort();
  const paths = Object.fromEntries(["GET", "POST", "DELETE"].map((method) => [method, pathsOf(method)]));
  return formatted(
    `// Printed from the declarations in lib/contract by \`npm run openapi\`.\nexport const paths = ${JSON.stringify(paths)};`,
  );
}

/** The client's types: all endpoints, queries, bodies and records of the OpenAPI document. */
export function clientTypes(): string {
  const calls = Object.values(resources)
    .flatMap((each) => Object.entries(each))
    .flatMap(([operation, declaration]) => (isNavigation(declaration) ? [] : [callOf(operation, declaration)]))
    .sort((one, other) => (one.endpoint < other.endpoint ? -1 : 1));
  const data = calls.map((each) => each.data);
  const schemas: Readonly<Record<string, Schema>> = JSON.parse(JSON.stringify(openApiDocument().components.schemas));
  const mapOf = (name: string, method: Declaration["method"]) =>
    declared(
      name,
      `Every ${method}, by its path.`,
      ...calls.flatMap((each) => (each.method === method ? [each.endpoint] : [])),
    );
  const text = [
    "// Printed from the declarations in lib/contract by `npm run openapi`.",
    'import type { BodyOrPatch, ById, Done, Endpoint, Failure, Invalid, Locked, Selection, With } from "./index.js";\n',
    mapOf("Reads<Include = undefined>", "GET"),
    mapOf("Posts", "POST"),
    mapOf("Deletes", "DELETE"),
    ...calls.map(({ query }) => query),
    baseType("PageQuery", "Which records of a list are to be read.", parametersIn("query", listUsers)),
    baseType("Page", "Which records of a list these are.", schemas.UserList),
    ...Object.entries(schemas).map(([name, schema]) => componentType(name, schema, data.includes(`${name}<Include>`))),
    errorTypes(),
  ].join("\n");
  return formatted(text);
}

/** What is printed of an endpoint. */
function callOf(operation: string, declaration: Declaration) {
  const { summary, permission, needsSession, method, path, body, mergePatch, creates, response } = declaration;
  const name = bodyName(operation);
  const [inPath, inQuery] = [parametersIn("path", declaration), parametersIn("query", declaration)];
  const hasInclude = "include" in inQuery.properties;
  const hasLock = "lock" in inQuery.properties;
  const hasQuery = Object.keys(inQuery.properties).length > 0;
  const isById = inPath.required[0] === "id";
  const fields = [
    ...(inPath.required.length > 0 && !isById ? [`path: ${typeOf(inPath)}`] : []),
    ...(hasQuery ? [`query${inQuery.required.length > 0 ? "" : "?"}: ${name}Query`] : []),
    ...(body && !mergePatch ? [`body: ${name}`] : []),
  ];
  const input = [
    ...(isById ? ["ById"] : []),
    ...(fields.length > 0 ? [`{ ${fields.join("; ")} }`] : []),
    ...(mergePatch ? [`BodyOrPatch<${name}>`] : []),
  ];
  const access = permission ? `Needs \`${permission}\`.` : needsSession ? "Needs a session." : "Needs no permission.";
  const data = dataOf(response, hasInclude);
  const types = [
    JSON.stringify(`${summary}. ${access}`),
    input.join(" & ") || "object",
    data,
    errorsOf(declaration, [...(hasQuery ? [`keyof ${name}Query`] : []), ...(body ? [`keyof ${name}`] : [])]),
    ...(isVersioned(declaration) && method === "GET" ? [hasLock ? "Locked" : "{ version: string }"] : []),
    ...(creates ? ["{ created: number }"] : []),
  ];
  return {
    method,
    data,
    endpoint: `"${path}": Endpoint<${types.join(", ")}>;`,
    query: hasQuery ? interfaceOf(`${name}Query`, inQuery, "PageQuery") : "",
  };
}

/** The parameters of the path or of the query as an object. The value of `include` is a selection of words. */
function parametersIn(part: "path" | "query", declaration: Declaration) {
  const all = parametersOf(declaration).filter((each) => each.in === part);
  const { items }: Schema = declaration.extensionQuery?.include ? outputSchema(declaration.extensionQuery.include) : {};
  const properties = all.map(({ name, description = "", schema }): [string, Schema] => {
    const tsType = items && name === "include" ? { tsType: `Selection<${typeOf(items)}>` } : {};
    return [name, { ...schema, description, ...tsType }];
  });
  const required = all.flatMap((each) => (each.required ? [each.name] : []));
  return { type: "object", properties: Object.fromEntries(properties), required };
}

/** The type of a response. `include` adds fields to the records. */
function dataOf(response: Declaration["response"], hasInclude: boolean): string {
  if ("message" in response) return `Done<${JSON.stringify(response.message)}>`;
  if ("list" in response) return hasInclude ? `${listName(response.list)}<Include>` : listName(response.list);
  if ("redirect" in response) return "never";
  return hasInclude ? `With<${response.record}, Include>` : response.record;
}

/** What pages, and the queries of pages, have in common. */
const bases = { Page: ["max", "from", "to"], PageQuery: ["limit", "offset", "search"] };

function interfaceOf(name: string, schema: Schema, base: keyof typeof bases): string {
  const common = bases[base];
  if (!common.every((each) => each in (schema.properties ?? {}))) return declared(name, "", fieldsOf(schema));
  const own = fieldsOf(schema, (field) => !common.includes(field));
  return declared(`${name} extends ${base}`, "", own);
}

function baseType(base: keyof typeof bases, meaning: string, schema: Schema = {}): string {
  const common = fieldsOf(schema, (field) => bases[base].includes(field));
  return declared(base, meaning, common);
}

/** The type of a component. Of a merge patch the client knows that it is a part of the whole. */
function componentType(name: string, schema: Schema, hasInclude: boolean): string {
  if (isPlain(name) || name.endsWith("Patch")) return "";
  const generic = hasInclude ? `${name}<Include = undefined>` : name;
  const type =
    schema.type === "object" ? interfaceOf(generic, schema, "Page") : `export type ${generic} = ${typeOf(schema)};\n`;
  return hasInclude ? type.replace(/(\w+)\[\]/, "With<$1, Include>[]") : type;
}

/** In the format of this repository. */
function formatted(text: string): string {
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
  const words = ["format", "--vcs-enabled=false", "--stdin-file-path", "lib/client/calls.d.ts"];
  return execFileSync(process.execPath, [biome, ...words], { cwd: root, input: text, encoding: "utf8" });
}
