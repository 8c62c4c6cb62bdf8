import * as z from "zod/mini";

/**
 * The validated payload of an operator function.
 * @throws {TypeError} that names each invalid field
 */
export function payloadOf<S extends z.ZodMiniType>(schema: S, event: unknown): z.output<S> {
  const result = z.safeParse(schema, event);
  if (result.success) return result.data;
  throw new TypeError(`Invalid payload: ${issuesOf(result.error.issues)}`);
}

const issuesOf = (issues: readonly z.core.$ZodIssue[]) => issues.map(textOf).join("; ");

const textOf = (issue: z.core.$ZodIssue): string =>
  issue.code === "unrecognized_keys"
    ? `${issue.keys.join(", ")}: unknown`
    : `${issue.path.join(".") || "payload"}: ${issue.message}`;
