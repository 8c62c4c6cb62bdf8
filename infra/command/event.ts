import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { APIGatewayProxyEvent } from "aws-lambda";
import * as z from "zod/mini";
import { endpointPath } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { fieldsInWords, issueInWords } from "../../lib/operators/issues.ts";
import { payloads } from "../../lib/operators/payloads.ts";
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
 */
export async function eventOf(path: string, written?: string): Promise<unknown> {
  const sample = JSON.parse(await readFile(join(root, `events/${path}.json`), "utf8"));
  if (written === undefined) return sample;
  const payload = parsed(/^\s*\{/.test(written) ? written : await readFile(written, "utf8"));
  if (path.startsWith("ops/") || isEvent(payload)) return payload;
  const { data, error } = z.safeParse(request, payload, { error: issueInWords });
  if (data) return withRequest(sample, data);
  const fields = fieldsInWords(error.issues, "payload").join("; ");
  throw new Error(`Invalid payload: ${fields}. That of an endpoint has path, query, body and as`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`The payload is not JSON: ${text.slice(0, 100)}`, { cause });
  }
}

const isEvent = (payload: unknown) => typeof payload === "object" && payload !== null && "requestContext" in payload;

function withRequest(event: APIGatewayProxyEvent, { path, query, body, as }: z.output<typeof request>) {
  return {
    ...event,
    ...(path && { pathParameters: path }),
    ...(query && { queryStringParameters: query }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(as !== undefined && { headers: { ...event.headers, Cookie: `refreshToken=${as}` } }),
  };
}
