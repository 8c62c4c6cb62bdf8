import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { openApiDocument } from "../openapi/document.ts";
import { errorsOf, errorTypes, type Failures } from "./errors.ts";
import { listOf, listTypes, pageQueryType, queryType, recordTypes } from "./records.ts";
import { declared, docstring, fieldsOf, type Schema, typeOf } from "./types.ts";

const root = join(import.meta.dirname, "../../..");

/** Where the client's types are kept. */
export const callsFile = join(root, "lib/client/calls.d.ts");

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

/** What is read of an operation of the OpenAPI document. */
interface Operation extends Failures {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly (Schema & { readonly name: string; readonly in: string; readonly schema: Schema })[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Failures["responses"] & { readonly 200?: Success };
}

interface Success {
  readonly headers?: Readonly<Record<string, { readonly $ref?: string }>>;
  readonly content: Content;
}

const jsonOf = (content: Content): Schema => content["application/json"]?.schema ?? {};

/** The parameters of a place as an object. */
function parametersIn(place: "path" | "query", { parameters = [] }: Operation): Schema | undefined {
  const all = parameters.filter((each) => each.in === place);
  if (all.length === 0) return undefined;
  const described = all.map(({ name, schema, description }) => [
    name,
    description ? { ...schema, description } : schema,
  ]);
  return {
    type: "object",
    properties: Object.fromEntries(described),
    required: all.flatMap(({ name, required }) => (required ? [name] : [])),
  };
}

/** A call, as its types say it; `name` is what its query and its body are called. */
function callOf(path: string, method: string, operation: Operation, { headers = {}, content }: Success) {
  const { operationId, requestBody } = operation;
  const name = operationId.charAt(0).toUpperCase() + operationId.slice(1);
  const [inPath, query] = [parametersIn("path", operation), parametersIn("query", operation)];
  const body = requestBody && jsonOf(requestBody.content);
  const takesPatch = requestBody !== undefined && "application/merge-patch+json" in requestBody.content;
  const byId = inPath?.required?.[0] === "id";
  const queryIsOptional = query?.required?.length === 0;
  const fields = [
    ...(inPath && !byId ? [`path: ${typeOf(inPath)};`] : []),
    ...(query ? [`query${queryIsOptional ? "?" : ""}: ${name}Query;`] : []),
    ...(body && !takesPatch ? [`body: ${name};`] : []),
  ];
  const own = [
    ...(fields.length > 0 ? [`{ ${fields.join(" ")} }`] : []),
    ...(takesPatch ? [`BodyOrPatch<${name}>`] : []),
  ];
  const options = `${byId ? "ById" : "Options"}${own.length > 0 ? `<${own.join(" & ")}>` : ""}`;
  const mayBeAbsent = inPath || body || (query && !queryIsOptional) ? "" : "?";
  const answer = jsonOf(content);
  const list = listOf(answer);
  const data = list?.name ?? (answer.properties?.data ? `Done<${typeOf(answer.properties.data)}>` : typeOf(answer));
  const names = [...(query ? [`keyof ${name}Query`] : []), ...(body ? [`keyof ${name}`] : [])];
  const known = [
    ...(headers.ETag?.$ref?.endsWith("/Version") ? ["version: string"] : []),
    ...(headers.Location ? ["created: number"] : []),
  ];
  return {
    tag: operation.tags[0],
    method: method.toUpperCase(),
    path,
    name,
    meaning: meaningOf(operation),
    query,
    body,
    data,
    list,
    options: `options${mayBeAbsent}: ${options}`,
    tuple: `[${options}${mayBeAbsent}]`,
    result: `Call<${[data, errorsOf(operation, names), ...known.map((each) => `{ ${each} }`)].join(", ")}>`,
  };
}

type Call = ReturnType<typeof callOf>;

/** What a call does, and who may do it. */
const meaningOf = ({ summary, description }: Operation): string =>
  `${summary}. ${description.replace("the permission ", "").split(/[:.]/)[0]}.`;

/** Methods, each with the name of the interface that has what its calls take, by path. */
const maps = { GET: "Reads", POST: "Posts", DELETE: "Deletes" } as const;

/** The signatures of all calls. A method's last one takes any path, as it is the one that the compiler's errors explain. */
const signatures = (calls: readonly Call[]): string =>
  [
    ...[...Map.groupBy(calls, ({ tag }) => tag)].flatMap(([tag, all]) => [
      `\n// ${tag}`,
      ...all.map(
        ({ meaning, method, path, options, result }) =>
          `${docstring(meaning)}${method}(path: "${path}", ${options}): ${result};`,
      ),
    ]),
    "\n// What the compiler explains when none of these fits a call; a path may be one of several here.",
    ...Object.entries(maps).map(([method, map]) => {
      const data = map === "Reads" ? 'Reads[Path]["data"]' : "Done<string>";
      return `${method}<Path extends keyof ${map}>(path: Path, ...options: ${map}[Path]${map === "Reads" ? '["options"]' : ""}): Call<${data}, AnyFailure>;`;
    }),
  ].join("\n");

const mapOf = (calls: readonly Call[], method: string): string =>
  calls
    .filter((call) => call.method === method)
    .map(({ path, tuple, data }) => `"${path}": ${method === "GET" ? `{ options: ${tuple}; data: ${data} }` : tuple};`)
    .join("\n");

/** The client's types: every call, query, body and record of the OpenAPI document. */
export function clientTypes(): string {
  const { paths, components } = JSON.parse(JSON.stringify(openApiDocument()));
  const calls = Object.entries<Record<string, Operation>>(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) =>
      operation.responses[200] ? [callOf(path, method, operation, operation.responses[200])] : [],
    ),
  );
  const lists = calls.flatMap(({ list, path }) => (list ? [{ ...list, path }] : []));
  const text = [
    "// Printed from the declarations in lib/contract by `npm run openapi`.",
    'import type { BodyOrPatch, Options, Result } from "./index.js";\n',
    declared(
      "Calls",
      "Every call, by method and path. What it needs is a permission of the caller's.",
      signatures(calls),
    ),
    `${docstring("What a call comes to: a promise of its result.")}export type Call<Data, Errors, Known = unknown> = Promise<Result<Data, Errors, Known>>;\n`,
    `${docstring("What a call is given that is about one record.")}export type ById<Own = unknown> = Options<{ path: { id: number } } & Own>;\n`,
    pageQueryType(calls.flatMap(({ query }) => (query ? [query] : []))),
    ...calls.flatMap(({ name, query, body }) => [
      ...(query ? [queryType(`${name}Query`, query)] : []),
      ...(body ? [declared(name, "", fieldsOf(body.properties, body.required))] : []),
    ]),
    ...listTypes(lists),
    ...recordTypes(components.schemas),
    errorTypes(),
    declared(
      "Lists",
      "The lists that have pages.",
      lists
        .filter(({ field }) => field)
        .map(({ path, field, item }) => `"${path}": { field: "${field}"; item: ${item} };`)
        .join("\n"),
    ),
    ...Object.entries(maps).map(([method, map]) =>
      declared(map, `Every ${method}, by its path.`, mapOf(calls, method)),
    ),
  ].join("\n");
  return formatted(text);
}

/** In the format of this repository. */
function formatted(text: string): string {
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
  const words = ["format", "--vcs-enabled=false", "--stdin-file-path", "lib/client/calls.d.ts"];
  return execFileSync(process.execPath, [biome, ...words], { cwd: root, input: text, encoding: "utf8" });
}
