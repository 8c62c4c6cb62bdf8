import type { Declaration } from "../../../lib/contract/declare.ts";
import { bodiesOf, parametersOf, sampleEvent } from "./requests.ts";

/** The call of an operation through the client (lib/client), with the values of its examples. */
export function clientCallOf(operation: string, declaration: Declaration): string {
  const { method, path, needsFileService } = declaration;
  const event = sampleEvent(declaration);
  const sampled = { ...event?.pathParameters, ...event?.queryStringParameters };
  const parameters = parametersOf(declaration).filter(({ name }) => name in sampled);
  const valuesIn = (location: "path" | "query") =>
    parameters.flatMap((each) => (each.in === location ? [[each.name, each.example]] : []));
  const [body] = bodiesOf(operation, declaration);
  const isPatch = body?.type === "application/merge-patch+json";
  const options = Object.entries({
    path: literal(Object.fromEntries(valuesIn("path"))),
    query: literal(Object.fromEntries(valuesIn("query"))),
    [isPatch ? "patch" : "body"]: needsFileService && body ? "{ image: await imageOf(file) }" : literal(body?.example),
  }).filter(([, value]) => value !== "{}");
  const lines = options.map(([name, value]) => `  ${name}: ${value},\n`).join("");
  return `const { data, error } = await colophon.${method}("${path}"${lines && `, {\n${lines}}`});`;
}

/** The source text of a value of JSON. */
function literal(value: unknown = {}): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  const fields = Object.entries(value).map(([name, each]) => `${name}: ${literal(each)}`);
  return fields.length > 0 ? `{ ${fields.join(", ")} }` : "{}";
}
