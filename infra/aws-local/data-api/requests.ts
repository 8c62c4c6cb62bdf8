import { ServiceError, validation } from "../http/service-error.ts";
import type { Limits } from "./limits.ts";

export type Operation = "ExecuteStatement" | "BeginTransaction" | "CommitTransaction" | "RollbackTransaction";

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
}

/** The members of all operations; each operation uses some of them. */
export interface Request {
  resourceArn: string;
  secretArn: string;
  database?: string;
  schema?: string;
  transactionId?: string;
  sql?: string;
  parameters?: SqlParameter[];
  continueAfterTimeout?: boolean;
}

type Check = (value: unknown) => boolean;
type Checks = ReadonlyMap<string, Check>;

const isText: Check = (value) => typeof value === "string";
const isTruth: Check = (value) => typeof value === "boolean";

/** The members of a parameter's value, of which it has one. */
const values: Checks = new Map([
  ["isNull", (content) => content === true],
  ["stringValue", isText],
  ["longValue", Number.isInteger],
  ["doubleValue", (content) => typeof content === "number" || /^(NaN|-?Infinity)$/.test(String(content))],
  ["booleanValue", isTruth],
  ["blobValue", isText],
  ["arrayValue", isRecord],
]);

const isValue: Check = (value) => {
  if (!isRecord(value)) return false;
  const [member, ...others] = Object.entries(value).filter(([, content]) => content !== null);
  return member !== undefined && others.length === 0 && values.get(member[0])?.(member[1]) === true;
};

const parameter: Checks = new Map([
  ["name", isText],
  ["value", isValue],
]);

const members: Checks = new Map([
  ["resourceArn", isText],
  ["secretArn", isText],
  ["database", isText],
  ["schema", isText],
  ["transactionId", isText],
  ["sql", isText],
  ["parameters", (list) => Array.isArray(list) && list.every((each) => hasMembers(each, parameter))],
  ["continueAfterTimeout", isTruth],
]);

/**
 * A request's body, whose members have the types of the service's model (botocore, rds-data 2018-08-01).
 * @throws {ServiceError} also for a member that this emulator does not implement
 */
export function typed(body: unknown): Request {
  if (!hasMembers(body, members)) throw new ServiceError(400, "SerializationException");
  return body as unknown as Request;
}

/** Whether all members fit; a member that is null is removed. */
function hasMembers(value: unknown, checks: Checks): boolean {
  if (!isRecord(value)) return false;
  for (const [name, content] of Object.entries(value)) {
    const check = checks.get(name);
    if (content === null) delete value[name];
    else if (!check) throw new ServiceError(501, "NotImplementedException", `aws-local does not implement ${name}`);
    else if (!check(content)) throw new ServiceError(400, "SerializationException", `${name} cannot be read`);
  }
  return true;
}

/** Lengths are those of the service's model, too. */
export function checkLengths(operation: Operation, request: Request, limits: Limits): void {
  length(request.resourceArn, "resourceArn", 11, 570);
  length(request.secretArn, "secretArn", 11, 570);
  if (request.schema !== undefined) throw validation("The schema parameter isn't supported");
  if (request.database !== undefined) length(request.database, "database", 0, 64);
  if (request.transactionId !== undefined || /^(Commit|Rollback)/.test(operation))
    length(request.transactionId, "transactionId", 0, 192);
  if (operation === "ExecuteStatement") length(request.sql, "sql", 0, limits.sqlCharacters);
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
