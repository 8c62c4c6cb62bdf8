import * as z from "zod/mini";

/** What `ops-import` returns. */
export const importReport = z.object({
  lines: z.number(),
  added: z.number(),
  changed: z.number(),
  unchanged: z.number(),
  /** The lines that added and changed something, by kind. */
  kinds: z.record(z.string(), z.object({ added: z.number(), changed: z.number() })),
  /** How many records changed of each client, by id, and of those without a client (0), as they were before. */
  changedOf: z.record(z.string(), z.number()),
  /** How many contributors became public. */
  published: z.number(),
  /** How many lines were refused, and the first hundred of them. */
  refusedCount: z.number(),
  refused: z.array(z.object({ line: z.number(), field: z.nullable(z.string()), reason: z.string() })),
  isDone: z.boolean(),
});
export type ImportReport = z.output<typeof importReport>;
