import { ServiceError, validation } from "./errors.ts";
import type { Limits } from "./limits.ts";

export type Operation =
  | "ExecuteStatement"
  | "BatchExecuteStatement"
  | "BeginTransaction"
  | "CommitTransaction"
  | "RollbackTransaction";

/** The value of a parameter: exactly one of these members, blobs in base64. */
interface Field {
  isNull?: boolean;
  stringValue?: string;
  longValue?: number;
  doubleValue?: number | string;
  booleanValue?: boolean;
  blobValue?: string;
  arrayValue?: unknown;
}

export interface SqlParameter {
  name: string;
  value: Field;
  typeHint?: string;
}

/** The members of all five operations; each operation uses some of them. */
export interface Request {
  resourceArn: string;
  secretArn: string;
  database?: string;
  schema?: string;
  transactionId?: string;
  sql?: string;
  parameters?: SqlParameter[];
  parameterSets?: SqlParameter[][];
  includeResultMetadata?: boolean;
  continueAfterTimeout?: boolean;
  formatRecordsAs?: "NONE" | "JSON";
  resultSetOptions?: { decimalReturnType?: "STRING" | "DOUBLE_OR_LONG"; longReturnType?: "LONG" | "STRING" };
}

const serialization = (message = "") => new ServiceError(400, "SerializationException", message);

const types: Record<string, string> = {
  resourceArn: "string",
  secretArn: "string",
  database: "string",
  schema: "string",
  transactionId: "string",
  sql: "string",
  includeResultMetadata: "boolean",
  continueAfterTimeout: "boolean",
  formatRecordsAs: "string",
};

/** Reads a request's body; lengths are those of the service's model (botocore, rds-data 2018-08-01). */
export function parseRequest(operation: Operation, body: unknown, limits: Limits): Request {
  const request = typed(body);
  length(request.resourceArn, "resourceArn", 11, 570);
  length(request.secretArn, "secretArn", 11, 570);
  if (request.schema !== undefined) throw validation("The schema parameter isn't supported");
  if (request.database !== undefined) length(request.database, "database", 0, 64);
  if (request.transactionId !== undefined || isEnd(operation)) length(request.transactionId, "transactionId", 0, 192);
  if (isStatement(operation)) length(request.sql, "sql", 0, limits.sqlCharacters);
  parameters(request.parameters);
  for (const set of list(request.parameterSets)) parameters(set);
  return request;
}

const isStatement = (operation: Operation) => operation === "ExecuteStatement" || operation === "BatchExecuteStatement";

const isEnd = (operation: Operation) => operation === "CommitTransaction" || operation === "RollbackTransaction";

function typed(request: unknown): Request {
  if (!isRecord(request)) throw serialization();
  for (const [name, type] of Object.entries(types)) {
    if (request[name] === null) delete request[name];
    if (request[name] !== undefined && typeof request[name] !== type) throw serialization(`${name} must be a ${type}`);
  }
  return request as unknown as Request;
}

function parameters(given: unknown): void {
  for (const parameter of list(given)) {
    if (!isRecord(parameter) || typeof parameter.name !== "string" || !isRecord(parameter.value))
      throw serialization("A parameter has a name and a value");
    value(parameter.value);
  }
}

function value(field: Record<string, unknown>): void {
  const members = Object.entries(field).filter(([, content]) => content !== null && content !== undefined);
  const [name, content] = members[0] ?? [];
  if (members.length !== 1 || name === undefined || !valueTypes.get(name)?.(content))
    throw serialization("A value has exactly one member of the Field union");
}

const valueTypes = new Map<string, (content: unknown) => boolean>([
  ["isNull", (content) => content === true],
  ["stringValue", (content) => typeof content === "string"],
  ["longValue", (content) => Number.isInteger(content)],
  ["doubleValue", (content) => typeof content === "number" || /^(NaN|-?Infinity)$/.test(String(content))],
  ["booleanValue", (content) => typeof content === "boolean"],
  ["blobValue", (content) => typeof content === "string"],
  ["arrayValue", isRecord],
]);

function length(text: string | undefined, name: string, min: number, max: number): void {
  if (text === undefined)
    throw violation(`Value null at '${name}' failed to satisfy constraint: Member must not be null`);
  if (text.length < min) throw violation(outOfRange(name, `greater than or equal to ${min}`));
  // A character outside the basic plane counts once in the model, twice in JavaScript.
  if (text.length > max && [...text].length > max) throw violation(outOfRange(name, `less than or equal to ${max}`));
}

const outOfRange = (name: string, bound: string) =>
  `Value at '${name}' failed to satisfy constraint: Member must have length ${bound}`;

const violation = (message: string) => validation(`1 validation error detected: ${message}`);

function list(given: unknown): unknown[] {
  if (given === undefined || given === null) return [];
  if (!Array.isArray(given)) throw serialization();
  return given;
}

function isRecord(given: unknown): given is Record<string, unknown> {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}
