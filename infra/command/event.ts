import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { APIGatewayProxyEvent } from "aws-lambda";
import * as z from "zod/mini";
import { endpointPath, methodsOf, routesOf } from "../../lib/contract/declare.ts";
import { endpointAt, endpoints } from "../../lib/contract/endpoints.ts";
import { fieldsInWords, issueInWords } from "../../lib/operators/issues.ts";
import { isOperatorEndpoint, payloadOf, payloads } from "../../lib/operators/payloads.ts";
import { nearestOf } from "./command.ts";

const root = join(import.meta.dirname, "../..");

/** All functions by their paths in `functions/` and `events/`: `admin-roles/list`. */
export const functionPaths: readonly string[] = [...endpoints.map(endpointPath), ...Object.keys(payloads)].sort();

export const functionNameOf = (path: string): string => path.replaceAll("/", "-");

/**
 * The path of a function by this path or by its name, `admin-roles-list`.
 * @throws an error with the function that may be meant, or else with all of them
 */
export function functionPathOf(written: string): string {
  const path = functionPaths.find((each) => each === written || functionNameOf(each) === written);
  if (path !== undefined) return path;
  const nearest = nearestOf(written, [...functionPaths, ...functionPaths.map(functionNameOf)]);
  const others = nearest ? `; did you mean ${nearest}?` : `. There are:\n  ${functionPaths.join("\n  ")}`;
  throw new Error(`There is no function ${written}${others}`);
}

const textMap = z.optional(
  z.record(z.string(), z.pipe(z.union([z.string(), z.number()], "must be text or a number"), z.transform(String))),
);
const request = z.strictObject({
  path: textMap,
  query: textMap,
  body: z.optional(z.unknown()),
  as: z.optional(z.string()),
});

/**
 * The event for a function: its sample, or the payload. To an operators' function that is the event itself, to an
 * endpoint an event of API Gateway or what replaces parts of the sample.
 * @param written JSON, or the path of a file with it
 * @param token of the session that an endpoint gets
 * @throws if the function would not accept the event
 */
export async function eventOf(path: string, written?: string, token?: string): Promise<unknown> {
  const sample = JSON.parse(await readFile(join(root, `events/${path}.json`), "utf8"));
  const payload = written === undefined ? sample : parsed(await textOf(written));
  if (isOperatorEndpoint(path)) {
    payloadOf(path, payload);
    return payload;
  }
  const event = z.safeParse(gatewayEvent, payload).data ?? withRequest(sample, payload);
  expectServed(path, event);
  return token === undefined ? event : { ...event, headers: { ...event.headers, ...cookie(token) } };
}

const textOf = async (written: string) => (/^\s*\{/.test(written) ? written : await readFile(written, "utf8"));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`The payload is not JSON: ${text.slice(0, 100)}`, { cause });
  }
}

const gatewayEvent = z.looseObject({
  requestContext: z.looseObject({}),
  resource: z.string(),
  httpMethod: z.string(),
  headers: z.nullish(z.looseObject({})),
});

function expectServed(path: string, { resource, httpMethod }: Pick<APIGatewayProxyEvent, "resource" | "httpMethod">) {
  const declaration = endpointAt(path);
  const isServed = declaration && routesOf(declaration).some((route) => route === resource);
  if (isServed && methodsOf(declaration).some((method) => method === httpMethod)) return;
  throw new Error(`The payload is no event of ${path}, which serves ${declaration?.method} ${declaration?.path}`);
}

function withRequest(event: APIGatewayProxyEvent, payload: unknown) {
  const { data, error } = z.safeParse(request, payload, { error: issueInWords });
  if (error) {
    const fields = fieldsInWords(error.issues).join("; ");
    throw new Error(`Invalid payload: ${fields}. That of an endpoint has path, query, body and as`);
  }
  const { path, query, body, as } = data;
  return {
    ...event,
    ...(path && { pathParameters: path }),
    ...(query && { queryStringParameters: query }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(as !== undefined && { headers: { ...event.headers, ...cookie(as) } }),
  };
}

const cookie = (token: string) => ({ Cookie: `refreshToken=${token}` });
