import type { APIGatewayProxyEvent } from "aws-lambda";
import * as z from "zod/mini";
import type { Declaration } from "../contract/declare.ts";
import { commonErrors, invalidParameter } from "../contract/errors.ts";
import { ContractError } from "./errors.ts";

type Shape = Readonly<Record<string, z.ZodMiniType>>;
type Parsed<S> = S extends Shape ? { readonly [Name in keyof S]: z.output<S[Name]> } : Record<never, never>;

/** What a declaration accepts, read and validated. */
export interface Input<D extends Declaration> {
  readonly path: Parsed<D["parameters"]>;
  readonly query: Parsed<D["query"]>;
  readonly body: Parsed<D["body"]>;
}

/** Turns a declaration's shapes into one schema each, once, and reads events with them. */
export function reader<D extends Declaration>(declaration: D): (event: APIGatewayProxyEvent) => Input<D>;
export function reader(declaration: Declaration): (event: APIGatewayProxyEvent) => Input<Declaration> {
  const { parameters = {}, query = {}, body } = declaration;
  const path = section(parameters);
  const search = section(query);
  const content = section(body ?? {});
  return (event) => ({
    path: path(event.pathParameters ?? {}),
    query: search(withoutEmpty(event.queryStringParameters ?? {})),
    body: content(body ? bodyOf(event, declaration) : {}),
  });
}

function section(shape: Shape) {
  if (Object.keys(shape).length === 0) return () => ({});
  const schema = z.object(shape);
  return (values: unknown) => {
    const result = z.safeParse(schema, values);
    if (result.success) return result.data;
    throw badInput(shape, result.error.issues);
  };
}

/**
 * A required parameter that is missing or unreadable outweighs an optional one that cannot be read. A value of the
 * right type that is too long, or that cannot be stored, is named.
 */
function badInput(shape: Shape, issues: readonly z.core.$ZodIssue[]): ContractError {
  const invalid = issues.find((issue) => !isMissing(shape, issue));
  const missing = issues.some((issue) => isMissing(shape, issue));
  return new ContractError(400, invalid && !missing ? invalidParameter(String(invalid.path[0])) : commonErrors[400]);
}

function isMissing(shape: Shape, issue: z.core.$ZodIssue): boolean {
  const schema = shape[String(issue.path[0])];
  if (schema === undefined) return true;
  const isRequired = !z.safeParse(schema, undefined).success;
  const isTooLong = issue.code === "too_big" && issue.origin === "string";
  const isAcceptable = isTooLong || (issue.code === "custom" && issue.input !== "");
  return isRequired && !isAcceptable;
}

/** An empty query parameter counts as absent. */
function withoutEmpty(parameters: Readonly<Record<string, string | undefined>>) {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== ""));
}

const bodyBytesMax = 1_048_576;

/**
 * The JSON object of the body, or undefined, which no shape accepts.
 * @throws {ContractError} 413 when it is longer than anything without an image has to be
 */
function bodyOf({ body, isBase64Encoded }: APIGatewayProxyEvent, { files }: Declaration): unknown {
  const content = Buffer.from(body ?? "", isBase64Encoded ? "base64" : "utf8");
  if (content.length > bodyBytesMax && !files) throw new ContractError(413);
  try {
    const value: unknown = JSON.parse(content.toString());
    return Array.isArray(value) ? undefined : value;
  } catch {
    return undefined;
  }
}
