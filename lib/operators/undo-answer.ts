import * as z from "zod/mini";

/** A change of the ledger, as an answer names it. */
export const namedChange = z.object({
  change: z.number(),
  endpoint: z.string(),
  at: z.string(),
  userId: z.nullable(z.number()),
});

/** `contributor/5`, and its field, or `aliases/12` for an element. */
const place = { record: z.string(), field: z.string() };

export const conflict = z.object({
  change: z.number(),
  ...place,
  /** Its value, as far as it is short. */
  now: z.unknown(),
  /** Why an element cannot be brought back. */
  reason: z.optional(z.string()),
  /** The newest change that touched the same; null if that was another program. */
  later: z.nullable(namedChange),
});

export const undone = z.extend(namedChange, {
  /** What was done to take it back (lib/changes/README.md, "Effects"); without values if they are long, or many. */
  effects: z.array(z.looseObject({ record: z.string(), id: z.number(), did: z.enum(["add", "edit", "delete"]) })),
  /** The conflicts in spite of which that was done. */
  overridden: z.array(conflict),
  /** What could not be brought back. */
  leftOut: z.array(z.object({ ...place, reason: z.string() })),
});

/** What lib/changes/undo-changes.sql answers. */
export const undoBatch = z.object({
  change: z.optional(z.number()),
  undone: z.array(undone),
  conflicts: z.array(conflict),
  refused: z.array(z.object({ change: z.number(), endpoint: z.string(), reason: z.string() })),
  /** How many of the changes the call has looked at. */
  handled: z.number(),
});
export type UndoBatch = z.output<typeof undoBatch>;
