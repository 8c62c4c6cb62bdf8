import * as z from "zod/mini";

const report = z.object({
  refused: z.array(z.unknown()),
  conflicts: z._default(z.array(z.unknown()), []),
  isDone: z.boolean(),
});

/**
 * Whether an operators' function has left something of its work: it was refused, something is different now,
 * or time was over. Of a dry run: whether it would.
 */
export function leavesSomething(result: unknown): boolean {
  const { success, data } = report.safeParse(result);
  return success && (data.refused.length > 0 || data.conflicts.length > 0 || !data.isDone);
}
