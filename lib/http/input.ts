import type { APIGatewayProxyEvent } from "aws-lambda";
import * as z from "zod/mini";
import { type Declaration, type Parsed, type QueryOf, queryOf } from "../contract/declare.ts";
import { commonErrors, invalid, invalidParameter } from "../contract/errors.ts";
import { headerOf } from "./headers.ts";
import { ContractError } from "./response.ts";

type Shape = Readonly<Record<string, z.ZodMiniType>>;

/** The validated input of an endpoint. */
export interface Input<D extends Declaration> {
  readonly path: Parsed<D["parameters"]>;
  readonly query: QueryOf<D>;
  readonly body: D extends { readonly mergePatch: true } ? Partial<Parsed<D["body"]>> : Parsed<D["body"]>;
}

/** Makes a function that validates events by a declaration. The schemas are made once. */
export function inputParser<D extends Declaration>(declaration: D): (event: APIGatewayProxyEvent) => Input<D>;
export function inputParser(declaration: Declaration): (event: APIGatewayProxyEvent) => Input<Declaration> {
  const { parameters = {}, body, mergePatch } = declaration;
  const parsePath = parser(parameters);
  const parseQuery = parser(queryOf(declaration));
  const parseWhole = parser(body ?? {});
  const parseBody = (event: APIGatewayProxyEvent) => {
    if (!body) return {};
    const isPatch = isMergePatch(event);
    const value = bodyOf(event, declaration);
    return mergePatch && isPatch ? parsePatch(body, value) : parseWhole(value);
  };
  return (event) => ({
    path: parsePath(event.pathParameters ?? {}),
    query: parseQuery(queryParametersOf(event)),
    body: parseBody(event),
  });
}

/**
 * Whether the body is a merge patch. Any type but those of patches means a whole body.
 * @throws {ContractError} 415 for another patch, whose sender does not expect that what it leaves out is reset
 */
function isMergePatch(event: APIGatewayProxyEvent): boolean {
  const [type = ""] = (headerOf(event, "content-type") ?? "").toLowerCase().split(";");
  if (type.trim() === "application/merge-patch+json") return true;
  if (type.includes("patch")) throw new ContractError(415);
  return false;
}

/** The fields that a merge patch has: what it leaves out gets no default (RFC 7396). */
function parsePatch(shape: Shape, patch: unknown) {
  const named = Object.entries(shape).filter(([name]) => Object.hasOwn(Object(patch), name));
  return parser(Object.fromEntries(named))(patch);
}

function parser(shape: Shape) {
  const schema = z.object(shape);
  return (values: unknown) => {
    const result = z.safeParse(schema, values);
    if (result.success) return result.data;
    throw inputError(shape, result.error.issues);
  };
}

/**
 * A parameter is invalid if its schema says so (`invalid`), or if it is optional. Any other that does not fit is missing,
 * and then the message says only that.
 */
function inputError(shape: Shape, issues: readonly z.core.$ZodIssue[]): ContractError {
  const names = issues.map(({ path, message }) => {
    const name = String(path[0]);
    const schema = shape[name];
    return schema && (message === invalid || z.safeParse(schema, undefined).success) ? name : undefined;
  });
  const [first] = names;
  return new ContractError(400, first && !names.includes(undefined) ? invalidParameter(first) : commonErrors[400]);
}

/**
 * The query's parameters. An empty one means the same as none. One that comes twice is an array, which no schema accepts;
 * an event made by hand may lack the field with all values.
 */
function queryParametersOf({
  queryStringParameters: query,
  multiValueQueryStringParameters: all,
}: APIGatewayProxyEvent) {
  const parameters = Object.entries(query ?? {}).map(([name, value]) => {
    const values = all?.[name];
    return [name, values && values.length > 1 ? values : value] as const;
  });
  return Object.fromEntries(parameters.filter(([, value]) => value !== ""));
}

const bodyBytesMax = 1_048_576;

/**
 * The JSON value of the body. It is undefined, which no schema accepts, for an array and for anything but JSON. API Gateway
 * replaces invalid UTF-8 by U+FFFD, so a body with that character is not the one that was sent.
 * @throws {ContractError} 413 for a body of more than 1 MB, unless it may hold an image
 */
function bodyOf({ body, isBase64Encoded }: APIGatewayProxyEvent, { needsFileService }: Declaration): unknown {
  const content = Buffer.from(body ?? "", isBase64Encoded ? "base64" : "utf8");
  if (content.length > bodyBytesMax && !needsFileService) throw new ContractError(413);
  // Some tools begin a file with a byte-order mark.
  const text = content.toString().replace(/^\ufeff/, "");
  if (text.includes("\ufffd")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/**
 * The key by which the client may send the same request again.
 * @throws {ContractError} 400 for anything but 1 to 255 visible ASCII characters
 */
export function idempotencyKeyOf(event: APIGatewayProxyEvent): string | undefined {
  const key = headerOf(event, "idempotency-key");
  if (key === undefined || /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new ContractError(400, invalidParameter("Idempotency-Key"));
}

const entityTags = /^\s*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*\s*$/;

/**
 * The versions in `If-Match`: the record must have one of them; undefined for any. Tags that this service never makes
 * match no version. A version counts the changes of a record, not bytes, so it also counts in the forms that proxies
 * make of a tag when they compress: `W/"3"` of nginx and CloudFront, `"3-gzip"` of Apache.
 * @throws {ContractError} 400 for anything but a list of entity tags
 */
export function versionsOf(event: APIGatewayProxyEvent): readonly number[] | undefined {
  const header = headerOf(event, "if-match");
  if (header === undefined || header.trim() === "*") return undefined;
  if (!entityTags.test(header)) throw new ContractError(400, invalidParameter("If-Match"));
  return [...header.matchAll(/"([1-9]\d{0,14})(?:-(?:gzip|br|zstd|deflate))?"/g)].map(([, version]) => Number(version));
}
