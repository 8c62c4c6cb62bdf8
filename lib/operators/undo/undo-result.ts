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

/** A row that is otherwise than the change left it. */
export const differing = z.object({
  /** `contributor/5` */
  record: z.string(),
  /** Which row of the record it is, as `alias 12`; absent if it is the record itself. */
  row: z.optional(z.string()),
  /** The present values of the columns that differ, as far as they are short; null if the row is gone. */
  now: z.nullable(z.record(z.string(), z.unknown())),
  /** The newest change of them; null if none is known. */
  later: z.nullable(namedChange),
});

const undone = z.extend(namedChange, {
  /** What was done to take it back: the first hundred rows, and of these 200 KB. */
  rows: z.array(changedRow),
  /** What cannot be brought back: users who were deleted since, and images that are gone. */
  missing: z.array(z.string()),
});

const common = {
  /** The last row that was added to the ledger; without one nothing was undone, or this was a dry run. */
  change: z.optional(z.number()),
  /** The changes that are left as they are, with the first hundred rows that are the reason, if rows are. */
  refused: z.array(z.extend(namedChange, { reason: z.string(), differing: z.array(differing) })),
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
  /** False if older changes are left: the same payload goes on. */
  isDone: z.boolean(),
});
export type UndoResult = z.output<typeof undoResult>;
