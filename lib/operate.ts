import * as z from "zod/mini";

/**
 * Makes the Lambda handler of a function that operators and deployments invoke themselves. What it throws is shown to
 * them as the function's error.
 */
export function operate<S extends z.ZodMiniType, Result>(
  payload: S,
  work: (input: z.output<S>) => Promise<Result>,
): (event: unknown) => Promise<Result> {
  return async (event) => {
    const result = z.safeParse(payload, event);
    if (!result.success) throw new TypeError(`Unfit payload: ${describe(result.error.issues)}`);
    return await work(result.data);
  };
}

const describe = (issues: readonly z.core.$ZodIssue[]) =>
  issues.map(({ path, message }) => `${path.join(".") || "payload"}: ${message}`).join("; ");
