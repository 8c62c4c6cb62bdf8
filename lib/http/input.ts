import type { APIGatewayProxyEvent } from "aws-lambda";
import * as z from "zod/mini";
import { type Declaration, type Parsed, type QueryOf, queryOf } from "../contract/declare.ts";
import { commonErrors, invalid, invalidParameter } from "../contract/errors.ts";
import { type Fault, wholeBody } from "../contract/faults.ts";
import { isRepeatable, isVersioned } from "../contract/headers.ts";
import { faultOf } from "./fault.ts";
import { headerOf } from "./headers.ts";
import { invalidParameters } from "./invalid-parameters.ts";
import { jsonErrorPosition } from "./json-position.ts";
import { prefersStrict } from "./preference.ts";
import { ContractError } from "./response.ts";

type Shape = Readonly<Record<string, z.ZodMiniType>>;

/** The validated input of an endpoint. */
export interface Input<D extends Declaration> {
  readonly path: Parsed<D["parameters"]>;
  readonly query: QueryOf<D>;
  readonly body: D extends { readonly mergePatch: true } ? Partial<Parsed<D["body"]>> : Parsed<D["body"]>;
  readonly headers: Headers;
}

/** What the headers of a change say; undefined if they say nothing. */
interface Headers {
  /** The key by which the client may send the same request again. */
  readonly key?: string | undefined;
  /** The record must have one of these versions. */
  readonly versions?: readonly number[] | undefined;
}

/** A part of a request, or what is wrong with it. */
type Part<Value = object> = { readonly data: Value } | { readonly faults: readonly InputFault[] };

/** Without a required parameter, the message says only that one is missing, and not which other one is invalid. */
type InputFault = Fault & { readonly isOfRequired: boolean };

/** Makes a function that validates events by a declaration. The schemas are made once. */
export function inputParser<D extends Declaration>(declaration: D): (event: APIGatewayProxyEvent) => Input<D>;
export function inputParser(declaration: Declaration): (event: APIGatewayProxyEvent) => Input<Declaration> {
  const { parameters = {}, body, mergePatch } = declaration;
  const queryShape = queryOf(declaration);
  const parsePath = parser(parameters);
  const parseQuery = parser(queryShape, "query");
  const parseWhole = parser(body ?? {});
  const parseBody = (event: APIGatewayProxyEvent, isStrict: boolean): Part => {
    if (!body) return { data: {} };
    const isPatch = isMergePatch(event);
    const content = bodyOf(event, declaration);
    if ("faults" in content) return content;
    const parse = mergePatch && isPatch ? parser(namedIn(content.data, body)) : parseWhole;
    return withUndeclared(parse(content.data), isStrict ? Object.keys(content.data) : [], body);
  };
  return (event) => {
    const isStrict = prefersStrict(event);
    const names = isStrict ? Object.keys(event.queryStringParameters ?? {}) : [];
    const path = parsePath(event.pathParameters ?? {});
    const query = withUndeclared(parseQuery(queryParametersOf(event)), names, queryShape);
    const content = parseBody(event, isStrict);
    const headers = headersOf(event, declaration);
    if ("data" in path && "data" in query && "data" in content && "data" in headers)
      return { path: path.data, query: query.data, body: content.data, headers: headers.data };
    throw inputError([path, query, content, headers].flatMap((part) => ("faults" in part ? [part.faults] : [])));
  };
}

/** With the names that the endpoint does not declare as faults. */
function withUndeclared(part: Part, names: readonly string[], shape: Shape): Part {
  const undeclared = names
    .filter((name) => !Object.hasOwn(shape, name))
    .map((name) => ({ name: name.slice(0, nameLengthMax), reason: "undeclared", isOfRequired: false }) as const);
  if (undeclared.length === 0) return part;
  return { faults: [...("faults" in part ? part.faults : []), ...undeclared] };
}

/** Of a name that a client has made up, so much is repeated. */
const nameLengthMax = 64;

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
const namedIn = (patch: object, shape: Shape): Shape =>
  Object.fromEntries(Object.entries(shape).filter(([name]) => Object.hasOwn(patch, name)));

function parser(shape: Shape, source?: "query") {
  const schema = z.object(shape);
  return (values: Readonly<Record<string, unknown>> | object): Part => {
    const result = z.safeParse(schema, values);
    if (result.success) return result;
    return { faults: result.error.issues.map((issue) => inputFault(shape, issue, values, source)) };
  };
}

/** A parameter is invalid if its schema says so (`invalid`), or if it is optional. Any other that does not fit is missing. */
function inputFault(shape: Shape, issue: z.core.$ZodIssue, values: object, source?: "query"): InputFault {
  const fault = faultOf(issue, values);
  const { name } = fault;
  const schema = shape[name];
  const isOptional = schema !== undefined && z.safeParse(schema, undefined).success;
  const isTwice = source === "query" && Array.isArray(Object(values)[name]);
  return { ...(isTwice ? { name, reason: "twice" } : fault), isOfRequired: issue.message !== invalid && !isOptional };
}

/** The message is about the first part with a fault; the header has the faults of all. */
function inputError(parts: readonly (readonly InputFault[])[]): ContractError {
  const [part = []] = parts;
  const [first] = part;
  const isMissing = part.some(({ isOfRequired }) => isOfRequired);
  const message = first && !isMissing ? invalidParameter(first.name) : commonErrors[400];
  const byName = Map.groupBy(parts.flat(), ({ name }) => name);
  return new ContractError(400, message, invalidParameters([...byName.values()].flatMap((all) => all.slice(0, 1))));
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
 * The JSON object of the body. API Gateway replaces invalid UTF-8 by U+FFFD, so a body with that character is not the one
 * that was sent.
 * @throws {ContractError} 413 for a body of more than 1 MB, unless it may hold an image
 */
function bodyOf({ body, isBase64Encoded }: APIGatewayProxyEvent, { needsFileService }: Declaration): Part {
  const content = Buffer.from(body ?? "", isBase64Encoded ? "base64" : "utf8");
  if (content.length > bodyBytesMax && !needsFileService) throw new ContractError(413);
  // Some tools begin a file with a byte-order mark.
  const text = content.toString().replace(/^\ufeff/, "");
  if (text === "") return bodyFault({ reason: "missing" });
  if (text.includes("\ufffd")) return bodyFault({ reason: "utf8" });
  try {
    const data: unknown = JSON.parse(text);
    if (typeof data === "object" && data !== null && !Array.isArray(data)) return { data };
  } catch {
    // The position in a text of megabytes would take longer to find than it helps.
    const details = text.length > bodyBytesMax ? {} : { position: jsonErrorPosition(text) };
    return bodyFault({ reason: "json", details });
  }
  return bodyFault({ reason: "type", details: { expected: "object" } });
}

const bodyFault = (fault: Omit<Fault, "name">): Part => ({
  faults: [{ name: wholeBody, ...fault, isOfRequired: true }],
});

/** What a change reads in the headers: a key of 1 to 255 visible ASCII characters, and a list of entity tags. */
function headersOf(event: APIGatewayProxyEvent, declaration: Declaration): Part<Headers> {
  if (!isRepeatable(declaration)) return { data: {} };
  const key = headerOf(event, "idempotency-key");
  const tags = isVersioned(declaration) ? headerOf(event, "if-match") : undefined;
  const faults = [
    ...(key === undefined || /^[\x21-\x7e]{1,255}$/.test(key) ? [] : ["Idempotency-Key"]),
    ...(tags === undefined || tags.trim() === "*" || entityTags.test(tags) ? [] : ["If-Match"]),
  ].map((name) => ({ name, reason: "format", isOfRequired: false }) as const);
  return faults.length > 0 ? { faults } : { data: { key, versions: versionsOf(tags) } };
}

const entityTags = /^\s*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*\s*$/;

/**
 * The versions in `If-Match`; undefined for any. Tags that this service never makes match no version. A version counts the
 * changes of a record, not bytes, so it also counts in the forms that proxies make of a tag when they compress: `W/"3"` of
 * nginx and CloudFront, `"3-gzip"` of Apache.
 */
function versionsOf(tags: string | undefined): readonly number[] | undefined {
  if (tags === undefined || tags.trim() === "*") return undefined;
  return [...tags.matchAll(/"([1-9]\d{0,14})(?:-(?:gzip|br|zstd|deflate))?"/g)].map(([, version]) => Number(version));
}
