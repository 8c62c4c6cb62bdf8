import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { openApiDocument } from "../openapi/document.ts";
import type { JsonSchema } from "../openapi/schemas.ts";
import { errorsOf, errorTypes, type Failures } from "./errors.ts";
import { docstring, field, fieldsOf, isPlain, typeOf } from "./types.ts";

/** Where the client's types are kept. */
export const callsFile = join(import.meta.dirname, "../../../lib/client/calls.d.ts");

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>;

/** What the types of a call are made from. */
interface Operation extends Failures {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Failures["responses"] & { readonly 200?: Success };
}

interface Success {
  readonly headers: Readonly<Record<string, { readonly $ref?: string }>>;
  readonly content: Content;
}

/** One call, as its types tell it. */
interface Call {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
  readonly options: string;
  readonly isOptional: boolean;
  readonly data: string;
  readonly list: List | undefined;
  readonly error: string;
  readonly known: string;
}

interface List {
  readonly name: string;
  readonly item: string;
  readonly field: string;
  readonly schema: JsonSchema;
}

const capitalised = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);
const jsonOf = (content: Content): JsonSchema => content["application/json"]?.schema ?? {};

/** The answer of an endpoint that lists records; the name comes from theirs. */
function listOf(schema: JsonSchema): List | undefined {
  const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, JsonSchema>> };
  const [[fieldName = "", items = schema] = []] = Object.entries(properties);
  if (items.type !== "array") return undefined;
  const item = typeOf(items.items as JsonSchema);
  return { name: `${item.replace(/ListItem$/, "")}List`, item, field: fieldName, schema };
}

function dataOf(schema: JsonSchema): string {
  const { properties } = schema as { readonly properties?: Readonly<Record<string, JsonSchema>> };
  return properties?.data ? `Done<${typeOf(properties.data)}>` : typeOf(schema);
}

function callOf(path: string, method: string, operation: Operation, success: Success): Call {
  const { operationId, parameters = [], requestBody } = operation;
  const name = capitalised(operationId);
  const inPath = parameters.filter((each) => each.in === "path");
  const inQuery = parameters.filter((each) => each.in === "query");
  const isRequired = inQuery.some(({ required }) => required);
  const takesPatch = requestBody && "application/merge-patch+json" in requestBody.content;
  const parts = [
    ...(inPath.length > 0 ? [`path: { ${inPath.map((each) => field(each.name, each.schema, true)).join(" ")} };`] : []),
    ...(inQuery.length > 0 ? [`query${isRequired ? "" : "?"}: ${name}Query;`] : []),
    ...(requestBody && !takesPatch ? [`body: ${name};`] : []),
  ];
  const own = [
    ...(parts.length > 0 ? [`{ ${parts.join(" ")} }`] : []),
    ...(takesPatch ? [`BodyOrPatch<${name}>`] : []),
  ].join(" & ");
  const list = listOf(jsonOf(success.content));
  const known = [
    ...(success.headers.ETag?.$ref?.endsWith("/Version") ? ["version: string"] : []),
    ...(success.headers.Location ? ["created: number"] : []),
  ];
  return {
    path,
    method: method.toUpperCase(),
    operation,
    options: own === "" ? "Options" : `Options<${own}>`,
    isOptional: inPath.length === 0 && !isRequired && !requestBody,
    data: list?.name ?? dataOf(jsonOf(success.content)),
    list,
    error: errorsOf(operation, [
      ...(inQuery.length > 0 ? [`keyof ${name}Query`] : []),
      ...(requestBody ? [`keyof ${name}`] : []),
    ]),
    known: known.length > 0 ? `, { ${known.join("; ")} }` : "",
  };
}

/** Every call that can succeed, in the order of the document. */
function callsOf(paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>): Call[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      operation.responses[200] ? [callOf(path, method, operation, operation.responses[200])] : [],
    ),
  );
}

const optionsOf = ({ options, isOptional }: Call) => `[${options}${isOptional ? "?" : ""}]`;
const resultOf = ({ data, error, known }: Call) => `Result<${data}, ${error}${known}>`;

/** What a call does, who may do it, and when even they may not. */
function meaningOf({ operation: { summary, description, responses } }: Call): string {
  const rules = [...(responses[403]?.description?.matchAll(/^- Rule \d: (.*?)\.?$/gm) ?? [])].map(([, rule]) => rule);
  const forbidden = rules.length > 0 ? `\n403, too, if ${rules.join("; or if ")}.` : "";
  return `${summary}. ${description.split(":")[0]?.replace(/\.?$/, ".")}${forbidden}`;
}

const signature = (call: Call) =>
  `${docstring(meaningOf(call))}${call.method}(path: "${call.path}", options${call.isOptional ? "?" : ""}: ${call.options}): Promise<${resultOf(call)}>;`;

const entry = (call: Call) =>
  call.method === "GET"
    ? `"${call.path}": { options: ${optionsOf(call)}; data: ${call.data} };`
    : `"${call.path}": { options: ${optionsOf(call)} };`;

const queryOf = ({ operation: { operationId, parameters = [] }, path, method }: Call): string => {
  const inQuery = parameters.filter((each) => each.in === "query");
  if (inQuery.length === 0) return "";
  const fields = inQuery.map(({ name, schema, description, required }) =>
    field(name, { ...schema, ...(description ? { description } : {}) }, required),
  );
  return `${docstring(`The query of ${method} ${path}.`)}export interface ${capitalised(operationId)}Query { ${fields.join(" ")} }`;
};

const bodyOf = ({ operation: { operationId, requestBody }, path, method }: Call): string =>
  requestBody
    ? `${docstring(`The body of ${method} ${path}.`)}export interface ${capitalised(operationId)} { ${fieldsOf(jsonOf(requestBody.content))} }`
    : "";

const recordOf = ([name, schema]: readonly [string, JsonSchema]): string =>
  schema.type === "object"
    ? `export interface ${name} { ${fieldsOf(schema)} }`
    : `export type ${name} = ${typeOf(schema)};`;

function listType({ name, item, field: fieldName, schema }: List): string {
  if (fieldName === "") return `export type ${name} = ${item}[];`;
  const { max: _, from: __, to: ___, ...own } = schema.properties as Readonly<Record<string, JsonSchema>>;
  return `export interface ${name} extends Page { ${fieldsOf({ properties: own, required: Object.keys(own) })} }`;
}

const pageOf = (lists: readonly List[]): string => {
  const { max, from, to } = (lists.find(({ field: name }) => name !== "")?.schema.properties ?? {}) as Record<
    string,
    JsonSchema
  >;
  return `${docstring("What every page of a list says of itself.")}export interface Page { ${fieldsOf({ properties: { max, from, to }, required: ["max", "from", "to"] })} }`;
};

/** What is written by hand in lib/client/index.d.ts. */
const runtimeTypes = ["BodyOrPatch", "Options", "Result"];

/** Methods with the name of the map that has their calls by path. */
const maps = { GET: "Reads", POST: "Posts", DELETE: "Deletes" } as const;

/** The client's types: every call, record, query and body of the OpenAPI document, in the format of this repository. */
export function clientTypes(): string {
  const { paths, components } = JSON.parse(JSON.stringify(openApiDocument()));
  const calls = callsOf(paths);
  const lists = calls.flatMap(({ list }) => (list ? [list] : []));
  const byTag = Map.groupBy(calls, ({ operation }) => operation.tags[0] ?? "");
  const records: [string, JsonSchema][] = Object.entries(components.schemas);
  return formatted(
    [
      "// Printed from the declarations in lib/contract by `npm run openapi`.",
      `import type { ${runtimeTypes.filter((name) => calls.some((call) => signature(call).includes(`${name}<`))).join(", ")} } from "./index.js";`,
      `${docstring("Every call, by method and path.")}export interface Calls {`,
      ...[...byTag].flatMap(([tag, all]) => ["", `// ${tag}`, ...all.map(signature)]),
      "",
      "// Any path of a method. The compiler explains here what is wrong with a call.",
      'GET<Path extends keyof Reads>(path: Path, ...options: Reads[Path]["options"]): Promise<Result<Reads[Path]["data"], AnyFailure>>;',
      'POST<Path extends keyof Posts>(path: Path, ...options: Posts[Path]["options"]): Promise<Result<Done<string>, AnyFailure>>;',
      'DELETE<Path extends keyof Deletes>(path: Path, ...options: Deletes[Path]["options"]): Promise<Result<Done<string>, AnyFailure>>;',
      "}",
      ...calls.flatMap((call) => [queryOf(call), bodyOf(call)]),
      pageOf(lists),
      ...[...new Map(lists.map((each) => [each.name, each])).values()].map(listType),
      ...records.filter(([name]) => !isPlain(name)).map(recordOf),
      errorTypes(),
      `${docstring("The lists that have pages.")}export interface Lists {`,
      ...calls.flatMap(({ path, list }) =>
        list?.field ? [`"${path}": { field: "${list.field}"; list: ${list.name}; item: ${list.item} };`] : [],
      ),
      "}",
      ...Object.entries(maps).flatMap(([method, map]) => [
        `${docstring(`Every ${method} by its path.`)}export interface ${map} {`,
        ...calls.filter((call) => call.method === method).map(entry),
        "}",
      ]),
    ].join("\n"),
  );
}

function formatted(text: string): string {
  const root = join(import.meta.dirname, "../../..");
  const words = ["format", "--vcs-enabled=false", "--stdin-file-path", "lib/client/calls.d.ts"];
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
  return execFileSync(process.execPath, [biome, ...words], { cwd: root, input: text, encoding: "utf8" });
}
