import * as z from "zod/mini";
import { changedRow } from "./changes-in-words.ts";

/** A change of the ledger, as a result names it. */
export const namedChange = z.object({
  change: z.number(),
  /** Null: another program, or a migration, logged in to PostgreSQL as this role. */
  endpoint: z.nullable(z.string()),
  role: z.string(),
  at: z.string(),
  userId: z.nullable(z.number()),
  /** The user's present name; null of a deleted one. */
  username: z.nullable(z.string()),
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
  /** What was done to take it back: the first hundred rows, and of these 200 KB. */
  rows: z.array(changedRow),
  /** The conflicts in spite of which that was done. */
  overridden: z.array(conflict),
  /** What could not be brought back. */
  skipped: z.array(conflict),
});

const common = {
  /** The last row that was added to the ledger; without one nothing was undone, or this was a dry run. */
  change: z.optional(z.number()),
  /** What was changed again since. The changes with a conflict are left as they are. */
  conflicts: z.array(conflict),
  /** The changes that cannot be undone, even with `force`. */
  refused: z.array(z.extend(namedChange, { reason: z.string() })),
};

/** What lib/changes/undo-changes.sql returns; `handled` is how many of the changes the call has looked at. */
export const undoBatch = z.object({ ...common, undone: z.array(undone), handled: z.number() });
export type UndoBatch = z.output<typeof undoBatch>;

/** What operators get. */
export const undoResult = z.object({
  ...common,
  /** What was undone, newest first. `undoneBy` is the row that did it, and `what` it did, in words. */
  undone: z.array(
    z.extend(z.omit(undone, { rows: true }), { undoneBy: z.optional(z.number()), what: z.array(z.string()) }),
  ),
  /** False if some changes are left: the same payload goes on. */
  isDone: z.boolean(),
});
export type UndoResult = z.output<typeof undoResult>;
