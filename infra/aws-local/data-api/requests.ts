import { ServiceError, validation } from "../http/service-error.ts";
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

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isTruth: Check = (value) => typeof value === "boolean";
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);

/** The members of a parameter's value, of which it has one. */
const values = new Map<string, Check>([
  ["isNull", (content) => content === true],
  ["stringValue", isText],
  ["longValue", Number.isInteger],
  ["doubleValue", (content) => typeof content === "number" || /^(NaN|-?Infinity)$/.test(String(content))],
  ["booleanValue", isTruth],
  ["blobValue", isText],
  ["arrayValue", isRecord],
]);

const isParameter: Check = (parameter) => {
  if (!isRecord(parameter) || !isText(parameter.name) || !isRecord(parameter.value)) return false;
  const [member, ...others] = Object.entries(parameter.value).filter(([, content]) => content !== null);
  return member !== undefined && others.length === 0 && values.get(member[0])?.(member[1]) === true;
};

const members: readonly [keyof Request, Check][] = [
  ["resourceArn", isText],
  ["secretArn", isText],
  ["database", isText],
  ["schema", isText],
  ["transactionId", isText],
  ["sql", isText],
  ["parameters", listOf(isParameter)],
  ["parameterSets", listOf(listOf(isParameter))],
  ["includeResultMetadata", isTruth],
  ["continueAfterTimeout", isTruth],
  ["formatRecordsAs", isText],
];

/** A request's body, whose members have the types of the service's model (botocore, rds-data 2018-08-01). */
export function typed(body: unknown): Request {
  if (!isRecord(body)) throw new ServiceError(400, "SerializationException");
  for (const [name, check] of members) {
    if (body[name] === null) delete body[name];
    if (body[name] !== undefined && !check(body[name]))
      throw new ServiceError(400, "SerializationException", `${name} cannot be read`);
  }
  return body as unknown as Request;
}

/** Lengths are those of the service's model, too. */
export function checkLengths(operation: Operation, request: Request, limits: Limits): void {
  length(request.resourceArn, "resourceArn", 11, 570);
  length(request.secretArn, "secretArn", 11, 570);
  if (request.schema !== undefined) throw validation("The schema parameter isn't supported");
  if (request.database !== undefined) length(request.database, "database", 0, 64);
  if (request.transactionId !== undefined || /^(Commit|Rollback)/.test(operation))
    length(request.transactionId, "transactionId", 0, 192);
  if (/ExecuteStatement$/.test(operation)) length(request.sql, "sql", 0, limits.sqlCharacters);
}

function length(text: string | undefined, name: string, min: number, max: number): void {
  const [is, bound] = [`Value at '${name}'`, "Member must have length"];
  if (text === undefined) throw violation(`Value null at '${name}'`, "Member must not be null");
  if (text.length < min) throw violation(is, `${bound} greater than or equal to ${min}`);
  // A character outside the basic plane counts once in the model, twice in JavaScript.
  if (text.length > max && [...text].length > max) throw violation(is, `${bound} less than or equal to ${max}`);
}

const violation = (what: string, constraint: string) =>
  validation(`1 validation error detected: ${what} failed to satisfy constraint: ${constraint}`);

function isRecord(given: unknown): given is Record<string, unknown> {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}
