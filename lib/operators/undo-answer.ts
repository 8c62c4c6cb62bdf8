import * as z from "zod/mini";
import { changedRow } from "./changes-in-words.ts";

/** A change of the ledger, as an answer names it. */
export const namedChange = z.object({
  change: z.number(),
  /** Null: another program, or a migration, logged in to PostgreSQL as this role. */
  endpoint: z.nullable(z.string()),
  role: z.string(),
  at: z.string(),
  userId: z.nullable(z.number()),
});

export const conflict = z.object({
  change: z.number(),
  /** `contributor/5`, and its column, or `aliases/12` for an element, or `*` for all of it. */
  record: z.string(),
  field: z.string(),
  /** What is there, as far as it is short. */
  now: z.unknown(),
  /** What is in the way, unless it is another value. */
  reason: z.optional(z.string()),
  /** The newest change that touched the same; null if none is known. */
  later: z.nullable(namedChange),
});

export const undone = z.extend(namedChange, {
  /** What was done to take it back: the first hundred rows. */
  rows: z.array(changedRow),
  /** The conflicts in spite of which that was done. */
  overridden: z.array(conflict),
  /** What could not be brought back. */
  leftOut: z.array(conflict),
});

/** What lib/changes/undo-changes.sql answers. */
export const undoBatch = z.object({
  change: z.optional(z.number()),
  undone: z.array(undone),
  conflicts: z.array(conflict),
  refused: z.array(z.extend(namedChange, { reason: z.string() })),
  /** How many of the changes the call has looked at. */
  handled: z.number(),
});
export type UndoBatch = z.output<typeof undoBatch>;
