import * as z from "zod/mini";
import { ServiceError, validation } from "../http/service-error.ts";
import type { Limits } from "./limits.ts";

export type Operation = "ExecuteStatement" | "BeginTransaction" | "CommitTransaction" | "RollbackTransaction";

/** The value of a parameter, blobs in base64. */
const field = z
  .strictObject({
    isNull: z.optional(z.literal(true)),
    stringValue: z.optional(z.string()),
    longValue: z.optional(z.int()),
    doubleValue: z.optional(z.union([z.number(), z.literal(["NaN", "Infinity", "-Infinity"])])),
    booleanValue: z.optional(z.boolean()),
    blobValue: z.optional(z.string()),
    arrayValue: z.optional(z.looseObject({})),
  })
  .check(z.refine((value) => Object.keys(value).length === 1));

const parameter = z.strictObject({ name: z.string(), value: field });
export type SqlParameter = z.infer<typeof parameter>;

/** The members of all operations; each operation uses some of them. */
const request = z.strictObject({
  resourceArn: z.optional(z.string()),
  secretArn: z.optional(z.string()),
  database: z.optional(z.string()),
  schema: z.optional(z.string()),
  transactionId: z.optional(z.string()),
  sql: z.optional(z.string()),
  parameters: z.optional(z.array(parameter)),
  continueAfterTimeout: z.optional(z.boolean()),
});
export type Request = z.infer<typeof request>;

/**
 * A request's body, whose members have the types of the service's model (botocore, rds-data 2018-08-01).
 * @throws {ServiceError} also for a member that this emulator does not implement
 */
export function typed(body: unknown): Request {
  const { data, error } = z.safeParse(request, body);
  if (data) return data;
  const [issue] = error.issues;
  if (issue?.code === "unrecognized_keys")
    throw new ServiceError(501, "NotImplementedException", `aws-local does not implement ${issue.keys}`);
  throw new ServiceError(400, "SerializationException", `${issue?.path.join(".")} cannot be read`);
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
