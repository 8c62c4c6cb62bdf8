import * as z from "zod/mini";

/**
 * What an operator's function was given, read and validated.
 * @throws {TypeError} that says what does not fit
 */
export function payloadOf<S extends z.ZodMiniType>(schema: S, event: unknown): z.output<S> {
  const result = z.safeParse(schema, event);
  if (result.success) return result.data;
  throw new TypeError(`Unfit payload: ${describe(result.error.issues)}`);
}

const describe = (issues: readonly z.core.$ZodIssue[]) =>
  issues.map(({ path, message }) => `${path.join(".") || "payload"}: ${message}`).join("; ");
